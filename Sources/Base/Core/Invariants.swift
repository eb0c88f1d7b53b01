/// A value that can check its own invariants.
///
/// A type checks all of its invariants in `check` and passes the check on to its parts. Drivers,
/// simulated worlds, explorations and tests run the check after every step.
public protocol SelfChecking {
  /// Adds each invariant that is currently broken to `check`.
  func check(_ check: inout InvariantCheck)
}

/// A check of a value and its parts, which collects the invariants found broken.
public struct InvariantCheck: Sendable {
  /// The amount of a value that a check reads.
  public enum Depth: Sendable, Hashable {
    /// Only checks that take constant time, regardless of the value's size. Release builds run them
    /// too.
    case quick
    /// Every element of every collection.
    case thorough

    /// The depth that drivers use: thorough in debug builds, quick in release builds.
    public static var ofDrivers: Depth {
      #if DEBUG
        .thorough
      #else
        .quick
      #endif
    }
  }

  /// Whether the check may read every element of a collection.
  public let isThorough: Bool
  /// The names of the invariants that do not hold, in the order in which they were checked.
  public private(set) var broken: [String] = []

  /// Creates a check that has found no broken invariant.
  public init(_ depth: Depth) {
    isThorough = depth == .thorough
  }

  /// Notes an invariant as broken unless it holds.
  /// - Parameter name: The type, a colon, and the invariant. The name is unique in the package.
  @inlinable
  public mutating func require(_ holds: Bool, _ name: StaticString) {
    if !holds { note(name) }
  }

  @usableFromInline
  mutating func note(_ name: StaticString) { broken.append(name.description) }
}

extension Machine {
  /// Checks nothing, for machines without invariants.
  public func check(_ check: inout InvariantCheck) {}

  /// Returns the deadline, as `deadline` does. It is mutating for the same reason as
  /// `brokenInvariants`.
  @inlinable
  package mutating func nextDeadline() -> Instant? { deadline }

  /// Returns the names of the invariants that do not hold; empty if all hold.
  ///
  /// The method changes nothing. It is mutating so that a machine inside another value is read in
  /// place and not copied.
  @inlinable
  public mutating func brokenInvariants(_ depth: InvariantCheck.Depth) -> [String] {
    var check = InvariantCheck(depth)
    self.check(&check)
    return check.broken
  }
}
