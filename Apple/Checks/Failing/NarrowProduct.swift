// fails on watchos-device: arithmetic operation '86400 * 1000000' (on type 'Int') results in an overflow
func microsecondsOfADay() -> Int { 86_400 * 1_000_000 }
