public import LinkDriver
public import LinkWire

/// A source of health samples with the meaning of HealthKit: observers fire, pages deliver what was
/// added and deleted since an anchor.
///
/// Contract: `observe` fires once for its types soon after the call, and again after each change;
/// several changes may fire once. A page without changes has the anchor of its query. A page never
/// leaves out a change; it may repeat one. A sample has the same UUID whenever it is delivered.
public protocol HealthSource: Sendable {
  /// Fires for changes of these types, in place of those observed before. Each call hands over a
  /// wake, to be given back within its budget.
  func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void) async

  /// Returns what changed after an anchor.
  ///
  /// - Throws: `.locked` while the device is locked; the samples are there, and cannot be read yet.
  func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage

  /// Ends observing.
  func stop() async
}
