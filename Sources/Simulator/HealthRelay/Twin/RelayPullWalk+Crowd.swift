import HealthRelay

// A line of questions at its limits, to which a walk of phones seldom comes.
extension RelayPullWalk {
  /// Asks a phone for more than it takes, and again for the oldest of 256 that it refused.
  ///
  /// It remembers these, until one more comes.
  mutating func crowd() {
    guard stray == nil else { return }
    var phone = RelayPhoneWalk(chance)
    phone.give(.start)
    phone.give(.opened(phone.attempt))
    phone.give(.message(phone.attempt, phone.greeting()))
    let waiting = 32
    for name in 1...waiting + 256 { phone.ask(name) }
    for name in [1, waiting + 1, waiting + 257, waiting + 1] { phone.ask(name) }
    chance = phone.chance
    stray = phone.stray
  }
}
