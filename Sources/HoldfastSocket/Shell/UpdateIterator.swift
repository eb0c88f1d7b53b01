/// The iterator of a feature's updates; a feature serves one.
public struct UpdateIterator<Update: Sendable>: AsyncIteratorProtocol {
  private let updates: UpdateChannel<Update>

  package init(updates: UpdateChannel<Update>) { self.updates = updates }

  /// Returns the next update; `nil` when the feature is closed.
  public mutating func next() async -> Update? { await updates.next() }

  /// Returns the next update; `nil` when the feature is closed.
  public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
    await updates.next()
  }
}
