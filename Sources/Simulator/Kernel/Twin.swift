import LinkCore

/// A second account of a machine's rules, written from their documents, that takes each step beside
/// it.
protocol Twin: Sendable {
  associatedtype Original: Machine

  /// What findings call the original, such as "the phone".
  static var name: String { get }
  /// When the original must be woken.
  var deadline: Instant? { get }
  /// Takes an input, or lets time pass if there is none; returns all that must be asked for.
  mutating func step(_ input: Original.Input?, at now: Instant) -> [Original.Effect]
  /// What else the original says of itself otherwise than it must; `nil` if nothing.
  func difference(from original: Original, after input: Original.Input?) -> String?
}

extension Twin {
  /// Takes a step, and returns what the original did otherwise in it.
  mutating func stray(
    of original: Original, after input: Original.Input?, _ effects: [Original.Effect],
    at now: Instant
  ) -> String? {
    let must = step(input, at: now)
    if effects != must {
      let place = zip(effects, must).prefix { $0 == $1 }.count
      let (one, two) = (effects.dropFirst(place).first, must.dropFirst(place).first)
      return "\(Self.name) asks for \(Self.short(one)), and must for \(Self.short(two))"
    }
    if original.deadline != deadline {
      return "\(Self.name) waits until \(Self.short(original.deadline)), "
        + "not \(Self.short(deadline))"
    }
    return difference(from: original, after: input).map { "\(Self.name) \($0)" }
  }

  private static func short(_ value: (some Any)?) -> String {
    value.map { String("\($0)".prefix(700)) } ?? "nothing"
  }
}

extension Optional where Wrapped: Twin {
  /// Takes a step in place. A twin whose original does something else is dropped, since what
  /// follows means nothing.
  mutating func stray(
    of original: Wrapped.Original, after input: Wrapped.Original.Input?,
    _ effects: [Wrapped.Original.Effect], at now: Instant
  ) -> String? {
    guard var twin = take() else { return nil }
    let stray = twin.stray(of: original, after: input, effects, at: now)
    if stray == nil { self = twin }
    return stray
  }
}
