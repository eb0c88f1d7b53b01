import LinkCore
public import LinkRuntime
public import LinkWire
import MessageStream

/// Opens shop streams, at most five at a time (seed 001: five connections a user).
///
/// An app has one of these for each user: it counts its own streams only. Who makes two may open
/// ten; the server's own limit of five sockets a user then answers 429, and the link waits.
public actor ShopStreams {
  /// Shops that may be open at once.
  public static let limit = 5

  private let environment: StreamEnvironment
  private var open: Set<ShopID> = []

  public init(_ environment: StreamEnvironment) {
    self.environment = environment
  }

  /// Opens a shop's stream: it shows what is kept, then connects.
  ///
  /// - Parameter notice: told once if the journal has to be given up.
  /// - Throws: `OpenError` when the shop is open already, five are, or the journal cannot be made.
  public func open(
    _ configuration: StreamConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(OpenError) -> ShopStream {
    guard !open.contains(configuration.shop) else { throw .alreadyOpen(configuration.shop) }
    guard open.count < Self.limit else { throw .tooMany(limit: Self.limit) }
    open.insert(configuration.shop)
    do throws(JournalError) {
      let start = try await MachineStart<StreamModel>(
        StreamModel.Birth(shop: configuration.shop, policy: configuration.policy),
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

/// Why a stream could not be opened.
public enum OpenError: Error, Sendable, Hashable, CustomStringConvertible {
  case alreadyOpen(ShopID)
  case tooMany(limit: Int)
  case journal(JournalError)

  public var description: String {
    switch self {
    case .alreadyOpen(let shop): "the stream of shop \(shop) is open already"
    case .tooMany(let limit): "\(limit) shops are open; close one of them first"
    case .journal(let error): error.description
    }
  }
}
