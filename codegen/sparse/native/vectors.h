/* Vectors in another order: `count` side by side. */

/* to[i] = from[order[i]] */
void NAMED(take, VALUE, u32)(u64 first, u64 last, const u32 *order, const VALUE *from, VALUE *to, u64 count)
{
    if (count == 1)
        for (u64 i = first; i < last; i++)
            to[i] = from[order[i]];
    else
        for (u64 i = first; i < last; i++)
            for (u64 r = 0; r < count; r++)
                to[i * count + r] = from[order[i] * count + r];
}
