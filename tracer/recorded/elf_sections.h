/* `elf_sections.with_section` for the launcher. One file includes it. */

#include <elf.h>

/* The file with one section more, which is never loaded; NULL for a damaged file. `size`: of the file, then of what is
   returned. */
static unsigned char *with_section(const unsigned char *data, size_t *size, const char *name, const unsigned char *content,
                                   size_t length) {
    Elf64_Ehdr head;
    size_t old = *size, count, begin, names, named = strlen(name) + 1;
    if (old < sizeof head) return NULL;
    memcpy(&head, data, sizeof head);
    count = head.e_shnum;
    if (!head.e_shoff || !count || count + 1 >= SHN_LORESERVE || head.e_shentsize != sizeof(Elf64_Shdr) ||
        head.e_shoff > old || count * sizeof(Elf64_Shdr) > old - head.e_shoff || head.e_shstrndx >= count)
        return NULL;
    Elf64_Shdr *sections = calloc(count + 1, sizeof *sections);
    if (!sections) return NULL;
    memcpy(sections, data + head.e_shoff, count * sizeof *sections);
    for (size_t i = 0; i < count; i++) {
        int stored = sections[i].sh_type != SHT_NULL && sections[i].sh_type != SHT_NOBITS;
        if (stored && (sections[i].sh_offset > old || sections[i].sh_size > old - sections[i].sh_offset)) {
            free(sections);
            return NULL;
        }
    }
    Elf64_Shdr *table = sections + head.e_shstrndx;
    begin = table->sh_offset, names = table->sh_size;
    size_t gap = names && data[begin + names - 1] ? 1 : names ? 0 : 1; /* a table that does not end a name */
    size_t all = names + gap + named, end = old + length + all, aligned = end + (8 - end % 8) % 8;
    unsigned char *made = calloc(1, aligned + (count + 1) * sizeof *sections);
    if (made) {
        memcpy(made, data, old);
        memcpy(made + old, content, length);
        memcpy(made + old + length, data + begin, names);
        memcpy(made + old + length + names + gap, name, named);
        table->sh_offset = old + length, table->sh_size = all;
        sections[count] = (Elf64_Shdr){.sh_name = (Elf64_Word)(names + gap), .sh_type = SHT_PROGBITS, .sh_offset = old,
                                       .sh_size = length, .sh_addralign = 1};
        head.e_shoff = aligned, head.e_shnum = (Elf64_Half)(count + 1);
        memcpy(made, &head, sizeof head);
        memcpy(made + aligned, sections, (count + 1) * sizeof *sections);
        *size = aligned + (count + 1) * sizeof *sections;
    }
    free(sections);
    return made;
}
