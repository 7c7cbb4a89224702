/* Numbers by falling count, ties by number: order[new] = old. `places` holds 65,537 zeros. Those of very many share a
   place: they are few, and all of them hot. */
u64 degree_order_any_u32(u64 size, const u32 *counts, u64 *places, u32 *order)
{
    for (u64 j = 0; j < size; j++)
        places[65535 - (counts[j] < 65535 ? counts[j] : 65535) + 1]++;
    for (u64 d = 0; d < 65536; d++)
        places[d + 1] += places[d];
    for (u64 j = 0; j < size; j++)
        order[places[65535 - (counts[j] < 65535 ? counts[j] : 65535)]++] = (u32)j;
    return 0;
}
