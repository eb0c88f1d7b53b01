#pragma once
int *__errno(void);
#define errno (*__errno())
