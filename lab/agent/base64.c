#include "base64.h"

#include <string.h>

static int digit_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

long base64_decode_in_place(char* text) {
  size_t length = strlen(text);
  unsigned bits = 0;
  int held = 0;
  long out = 0;

  while (length > 0 && text[length - 1] == '=') length--;
  for (size_t i = 0; i < length; i++) {
    int value = digit_value(text[i]);
    if (value < 0) return -1;
    bits = bits << 6 | (unsigned)value;
    held += 6;
    if (held >= 8) {
      held -= 8;
      text[out++] = (char)(bits >> held & 0xff);
    }
  }
  return out;
}
