/// The iterator of a feature's updates; a feature serves one.
public struct UpdateIterator<Update: Sendable>: AsyncIteratorProtocol {
  let updates: UpdateChannel<Update>

  /// Returns the next update; `nil` when the feature is closed.
  public mutating func next() async -> Update? { await updates.next() }

  /// Returns the next update; `nil` when the feature is closed.
  public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
    await updates.next()
  }
}
