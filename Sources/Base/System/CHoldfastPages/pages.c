// The pages of Web/built, which `make web` writes. `#embed` is in C23, and clang 19 and later have it.
#include "holdfast_pages.h"

#ifndef __has_embed
#error "HoldfastPages needs #embed, which Xcode 26, Swift 6.2 and clang 19 have"
#endif

#pragma clang diagnostic ignored "-Wc23-extensions"

#define PAGE(name) \
  struct holdfast_page holdfast_##name(void) { return (struct holdfast_page){name, sizeof name}; }

static const unsigned char charts[] = {
#embed "../../../../Web/built/charts.html"
};
PAGE(charts)

static const unsigned char dashboard[] = {
#embed "../../../../Web/built/dashboard.html"
};
PAGE(dashboard)

static const unsigned char done[] = {
#embed "../../../../Web/built/done.html"
};
PAGE(done)

static const unsigned char failed[] = {
#embed "../../../../Web/built/failed.html"
};
PAGE(failed)

static const unsigned char home[] = {
#embed "../../../../Web/built/home.html"
};
PAGE(home)

static const unsigned char picture[] = {
#embed "../../../../Web/built/picture.html"
};
PAGE(picture)

static const unsigned char sign_in[] = {
#embed "../../../../Web/built/sign-in.html"
};
PAGE(sign_in)
