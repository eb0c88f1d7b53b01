#pragma once
// What the module Synchronization calls on Linux and Android.
long syscall(long number, ...);
