import Foundation
public import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
public import HoldfastSocket

/// The open shop streams of one user. At most five are open at the same time.
///
/// This is the limit of the protocol: five connections for each user.
///
/// An app needs exactly one instance for each user, because an instance counts only its own
/// streams. With two instances, an app could open ten streams. The server then refuses the sixth
/// socket with 429, and the link waits. End the instance with `close()`.
public actor ShopStreams {
  /// The maximum number of shops that may be open at the same time.
  public static let limit = 5

  /// A stream, which the app owns. There is none while the stream is being opened.
  private struct Opened {
    weak var stream: ShopStream?
  }

  let network: any SocketDialer & HTTPClient
  /// The network of the streams that may use plaintext to other devices.
  private var plaintextNetwork: (any SocketDialer & HTTPClient)?
  private let store: any TimelineStore
  private let closeStore: @Sendable () async -> Void
  let tokens: TokenSource
  let ports: DevicePorts
  private var streams: [ShopID: Opened] = [:]
  private var closing: Task<Void, Never>?
  /// The continuations that are resumed when no stream is open.
  private var observers: [CheckedContinuation<Void, Never>] = []

  /// Opens the store and the network that all streams share.
  ///
  /// - Parameters:
  ///   - storage: The location of the messages, their cursors and the outbox.
  ///   - tokens: The source of the user's tokens.
  ///   - ports: The parts of the device. By default, they are those of the platform.
  /// - Throws: `.configuration` if a fixed token is not valid; `.store` if the store cannot be
  ///   opened, for example because another process uses it; `.network` if the process has no
  ///   descriptors or threads left.
  public init(
    storage: StorageLocation<any TimelineStore>, tokens: TokenSource,
    ports: DevicePorts = DevicePorts()
  ) async throws(OpenError) {
    try tokens.check()
    let network = try ports.openNetwork(allowsPlaintext: false)
    let store = try await OpenError.wrapping(OpenError.store) { () throws(StoreFailure) in
      try await storage.open()
    }
    (self.network, self.store) = (network, store)
    (self.tokens, self.ports) = (tokens, ports)
    closeStore = storage.closing(store)
  }

  /// Opens the stream of a shop. The stream reports the stored messages and then connects.
  ///
  /// - Parameter notice: A closure that is called with the reason if journaling is turned off
  ///   later. It is called at most once.
  /// - Throws: `.configuration` if the server's URL is not valid or needs `allowsPlaintext`;
  ///   `.alreadyOpen` if the shop is open; `.tooMany` if five shops are; `.journal` if the journal
  ///   cannot be created; `.closed` after `close()`.
  public func open(
    _ configuration: StreamConfiguration,
    notice: @escaping @Sendable (JournalError) -> Void = { _ in }
  ) async throws(OpenError) -> ShopStream {
    guard closing == nil else { throw .closed }
    let shop = configuration.shop
    guard streams[shop] == nil else { throw .alreadyOpen(shop: "\(shop)") }
    guard streams.count < Self.limit else { throw .tooMany(limit: Self.limit) }
    let host = try ServerURL.backendHost(
      configuration.server, ports, allowsPlaintext: configuration.allowsPlaintext)
    let parts = StreamParts(
      network: try chosenNetwork(for: configuration), store: store, tokens: tokens, ports: ports)
    streams[shop] = Opened()
    let start: MachineStart<StreamModel>
    do throws(OpenError) {
      start = try await MachineStart(
        StreamModel.Birth(
          shop: shop, policy: configuration.policy, sendsOnly: configuration.sendsOnly,
          wantsEvents: true),
        journal: configuration.journal, at: ports.clock.wall, notice: notice)
    } catch {
      closed(shop)
      throw error
    }
    let stream = ShopStream(configuration, parts, host: host, start: start) { [weak self] in
      await self?.closed(shop)
    }
    streams[shop]?.stream = stream
    guard closing == nil else {
      await stream.close()
      throw .closed
    }
    return stream
  }

  /// Closes all open streams, and the store unless the app supplied it.
  ///
  /// Messages that were sent before are stored. No stream can be opened afterwards. The call runs
  /// to completion even if the calling task is cancelled.
  public func close() async {
    if closing == nil { closing = Task { await self.closeAll() } }
    await closing?.value
  }

  private func closeAll() async {
    for opened in streams.values { await opened.stream?.close() }
    // A stream that the app has released may still be ending.
    while !streams.isEmpty { await withCheckedContinuation { observers.append($0) } }
    await closeStore()
  }

  private func closed(_ shop: ShopID) {
    streams[shop] = nil
    guard streams.isEmpty else { return }
    for observer in observers { observer.resume() }
    observers = []
  }

  /// Returns the network of a stream.
  ///
  /// The usual network itself refuses plaintext to other devices, so a stream that may use it has
  /// another one.
  private func chosenNetwork(
    for configuration: StreamConfiguration
  ) throws(OpenError) -> any SocketDialer & HTTPClient {
    guard configuration.allowsPlaintext, ports.network == nil else { return network }
    if let plaintextNetwork { return plaintextNetwork }
    let opened = try ports.openNetwork(allowsPlaintext: true)
    plaintextNetwork = opened
    return opened
  }
}

/// The parts that a stream uses. Streams share them.
struct StreamParts: Sendable {
  let network: any SocketDialer & HTTPClient
  let store: any TimelineStore
  let tokens: TokenSource
  let ports: DevicePorts
}

extension StorageLocation<any TimelineStore> {
  /// Returns the store, which is opened unless the app supplies it.
  func open() async throws(StoreFailure) -> any TimelineStore {
    switch self {
    case .directory(let path): return try await HoldfastPlatform.store(in: path)
    case .memory: return HoldfastPlatform.memoryStore()
    case .store(let own): return own
    }
  }
}
