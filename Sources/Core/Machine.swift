/// A value that takes what happened and `now`, and answers with what to do.
///
/// The link and every feature's model have this shape, so one runtime, one journal, one replay and
/// one simulator serve them all. After every call all of its invariants hold.
public protocol Machine: Sendable, SelfChecking {
  /// Everything that can happen to it.
  associatedtype Input: Sendable, Equatable, Codable
  /// Everything it can ask for. Effects are carried out in order.
  associatedtype Effect: Sendable, Equatable, Codable

  /// Takes one input. `now` never goes back between calls.
  mutating func handle(_ input: Input, at now: Instant) -> [Effect]

  /// Lets time pass; call it when `deadline` has come. Calling early or twice changes nothing.
  mutating func tick(at now: Instant) -> [Effect]

  /// The one instant to be woken at; `nil` when only an input can change anything.
  var deadline: Instant? { get }
}
