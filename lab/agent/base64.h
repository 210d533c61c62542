/* Decodes base64 in place; the lines from the host carry binary data this way. */
#ifndef LAB_AGENT_BASE64_H
#define LAB_AGENT_BASE64_H

/* Returns the number of bytes now in `text`, or -1 if it is not base64. */
long base64_decode_in_place(char* text);

#endif
