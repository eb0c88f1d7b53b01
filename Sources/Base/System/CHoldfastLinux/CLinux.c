// This target contains only headers. The package manager requires a source file to recognize a C
// target.
#include "CLinux.h"
