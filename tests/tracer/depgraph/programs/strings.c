// The library on strings, and a function of which nothing is known: it may change what its pointers lie in.
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int zero;
static char text[32];

__attribute__((noinline)) static void words(const char *from) {
  strcpy(text, from);
  text[1] = '_';
  size_t length = strlen(text);
  memcpy(text + length, from, 3);
  text[length + 3] = 0;
  char own[12];
  swab(text, own + 2, 6);  // a function that nothing is known of
  text[3] = own[4];
}

int main(void) {
  words("hello");
  char number[8] = "12";
  number[1] = (char)('3' + zero);
  int sum = (memcmp(text, "h_llo", 5) < 0) + (strcmp(text, "h") > 0) + atoi(number);
  printf("%d %s|%s\n", sum, text, "abcdef" + zero);
  puts(text + 2);
  return sum & 127;
}
