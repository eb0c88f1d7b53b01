// fails on ios, macos: no such module 'Glibc'
import Glibc

func failure() -> Int32 { errno }
