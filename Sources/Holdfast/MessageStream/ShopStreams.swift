public import LinkRuntime
public import LinkWire
import LinkCore
public import MessageStream

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
    let settings = StreamSettings(shop: configuration.shop, policy: configuration.policy)
    var generator = SystemRandomNumberGenerator()
    let seed = generator.next()
    let journal: Journal<StreamModel>?
    do throws(JournalError) {
      journal = try await makeJournal(configuration, settings, seed: seed, notice: notice)
    } catch {
      open.remove(configuration.shop)
      throw .journal(error)
    }
    return await ShopStream(
      configuration, environment: environment, journal: journal, settings: settings, seed: seed
    ) { [weak self] in
      await self?.closed(configuration.shop)
    }
  }

  private func closed(_ shop: ShopID) { open.remove(shop) }

  private func makeJournal(
    _ configuration: StreamConfiguration, _ settings: StreamSettings, seed: UInt64,
    notice: @escaping @Sendable (JournalError) -> Void
  ) async throws(JournalError) -> Journal<StreamModel>? {
    guard let path = configuration.journal else { return nil }
    let header = JournalHeader(
      machine: StreamModel.journalName, policy: configuration.policy, seed: seed,
      startedAt: environment.clock.wall, extra: ["shop": configuration.shop.text])
    return try await Journal(path: path, header: header, notice: notice)
  }
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

extension StreamModel {
  /// How journals name this machine.
  public static let journalName = "message-stream"

  /// Makes the machine that a journal's header describes.
  ///
  /// - Throws: `JournalMismatch` when the journal is of another machine.
  public init(_ header: JournalHeader) throws(JournalMismatch) {
    guard header.machine == Self.journalName, let text = header.extra["shop"],
      let shop = ShopID(text)
    else { throw JournalMismatch(machine: header.machine) }
    self.init(settings: StreamSettings(shop: shop, policy: header.policy), seed: header.seed)
  }
}

/// A journal of another machine than the one it was given to.
public struct JournalMismatch: Error, Sendable, Hashable, CustomStringConvertible {
  /// The machine that the journal names.
  public let machine: String

  public var description: String { "the journal is of \"\(machine)\", not of a message stream" }
}
