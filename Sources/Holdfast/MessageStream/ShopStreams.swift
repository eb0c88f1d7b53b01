import HoldfastSocket
import HoldfastCore
public import HoldfastWire
import HoldfastMessageStream

/// The open shop streams of one user. At most five are open at the same time.
///
/// docs/seeds/001.md defines this limit of five connections for each user.
///
/// An app needs exactly one instance for each user, because an instance counts only its own
/// streams. With two instances, an app could open ten streams. The server then refuses the sixth
/// socket with 429, and the link waits.
public actor ShopStreams {
  /// The maximum number of shops that may be open at the same time.
  public static let limit = 5

  private let environment: StreamEnvironment
  private var open: Set<ShopID> = []

  public init(_ environment: StreamEnvironment) {
    self.environment = environment
  }

  /// Opens the stream of a shop. The stream reports the stored messages and then connects.
  ///
  /// - Parameter notice: A closure that is called with the reason if journaling is turned off
  ///   later. It is called at most once.
  /// - Throws: `OpenError` if the shop is already open, five shops are open, or the journal cannot
  ///   be created.
  public func open(
    _ configuration: StreamConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(OpenError) -> ShopStream {
    guard !open.contains(configuration.shop) else { throw .alreadyOpen(configuration.shop) }
    guard open.count < Self.limit else { throw .tooMany(limit: Self.limit) }
    open.insert(configuration.shop)
    do throws(JournalError) {
      let start = try await MachineStart<StreamModel>(
        StreamModel.Birth(
          shop: configuration.shop, policy: configuration.policy,
          sendsOnly: configuration.sendsOnly),
        journal: configuration.journal, at: environment.clock.wall, notice: notice)
      return ShopStream(configuration, environment: environment, start: start) { [weak self] in
        await self?.closed(configuration.shop)
      }
    } catch {
      open.remove(configuration.shop)
      throw .journal(error)
    }
  }

  private func closed(_ shop: ShopID) { open.remove(shop) }
}

/// The reason why a stream could not be opened.
public enum OpenError: Error, Sendable, Hashable, CustomStringConvertible {
  case alreadyOpen(ShopID)
  case tooMany(limit: Int)
  case journal(JournalError)

  public var description: String {
    switch self {
    case .alreadyOpen(let shop): "the stream of shop \(shop) is already open"
    case .tooMany(let limit): "\(limit) shops are open; close one of them first"
    case .journal(let error): error.description
    }
  }
}
