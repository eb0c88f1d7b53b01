#pragma once
#include <stddef.h>

// The bytes of a page, in UTF-8. They exist as long as the program, and no zero follows them.
struct holdfast_page {
  const unsigned char *bytes;
  size_t count;
};

struct holdfast_page holdfast_charts(void);
struct holdfast_page holdfast_dashboard(void);
struct holdfast_page holdfast_done(void);
struct holdfast_page holdfast_failed(void);
struct holdfast_page holdfast_home(void);
struct holdfast_page holdfast_picture(void);
struct holdfast_page holdfast_sign_in(void);
