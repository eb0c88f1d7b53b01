// Headers only: this file lets the package manager see a C target.
#include "CLinux.h"
