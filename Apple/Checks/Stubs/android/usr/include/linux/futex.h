#pragma once
#include <stddef.h>
#define FUTEX_LOCK_PI_PRIVATE 0
#define FUTEX_TRYLOCK_PI 0
#define FUTEX_UNLOCK_PI_PRIVATE 0
