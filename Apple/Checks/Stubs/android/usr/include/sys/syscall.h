#pragma once
#define SYS_gettid 0
#define SYS_futex 0
