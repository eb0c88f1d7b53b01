public import Foundation
public import Holdfast

/// The links of an app to one server, and the models that its screens share.
///
/// An app makes one when it starts and keeps it. Everything but the server and the source of tokens
/// has a default: data is kept in the folder `Holdfast` of the user's application support.
@MainActor public final class HoldfastLinks {
  /// `https://host[:port]`, or `http://` to loopback; a path is kept as a prefix.
  public let server: URL
  /// Where data is kept.
  public let directory: URL
  let tokens: any TokenSource
  let parts: Parts
  /// The models that are open, by feature and id.
  private var models: [String: OpenModel] = [:]

  private struct OpenModel {
    let task: Task<any AnyObject & Sendable, any Error>
    let holdings: Holdings
  }

  /// The ports of an app; each is that of the platform by default.
  public struct Parts: Sendable {
    /// Opens sockets and makes requests.
    public var network: (any SocketDialer & HTTPClient)?
    /// Reports whether, and over which network path, the server can be reached.
    public var reachability: (any ReachabilityMonitor)?
    /// Reports whether the app is in front, and when the device sleeps.
    public var lifecycle: any LifecycleMonitor
    /// Lends time after the app left the foreground.
    public var backgroundTime: any BackgroundTime
    /// Time and waiting.
    public var clock: any LinkClock

    /// The ports of an app.
    public init(
      network: (any SocketDialer & HTTPClient)? = nil,
      reachability: (any ReachabilityMonitor)? = nil,
      lifecycle: any LifecycleMonitor = AlwaysForeground(),
      backgroundTime: any BackgroundTime = Platform.backgroundTime(),
      clock: any LinkClock = BootClock()
    ) {
      (self.network, self.reachability) = (network, reachability)
      (self.lifecycle, self.backgroundTime) = (lifecycle, backgroundTime)
      self.clock = clock
    }
  }

  /// The links to a server. Nothing is opened yet.
  ///
  /// - Parameter token: Returns a token, the first one and a new one when the old one expires or is
  ///   refused; throws `TokenFailure.rejected` if the user has to sign in again.
  public init(
    server: URL, directory: URL? = nil, parts: Parts = Parts(),
    token: @escaping @Sendable () async throws -> String
  ) {
    self.server = server
    self.directory = directory ?? Self.applicationSupport.appending(path: "Holdfast")
    self.parts = parts
    tokens = TokenClosure(token)
  }

  private static var applicationSupport: URL {
    FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
      ?? FileManager.default.temporaryDirectory
  }

  /// The token as a key, for what takes no `TokenSource`.
  var key: @Sendable () async throws(LinkFailure) -> String {
    { [tokens] () throws(LinkFailure) in
      do throws(TokenFailure) {
        return try await tokens.token()
      } catch {
        throw .local(detail: "the app has no token: \(error)")
      }
    }
  }

  /// The path of a folder for one feature.
  func folder(_ name: String) -> String {
    directory.appending(path: name).path(percentEncoded: false)
  }

  /// Returns the store of this package's imports, opened for a model.
  func healthStore(_ holdings: Holdings) async throws(StoreFailure) -> any HealthStore {
    holdings.keep(try await Platform.readableHealthStore(in: folder("health")))
  }

  /// Returns the model of an id, the same one to every screen; makes it for the first one.
  ///
  /// - Parameter make: Keeps in the holdings what it opens, and gives them to the model, which
  ///   closes them. They are closed if it throws.
  func shared<Model: AnyObject & Sendable>(
    _ id: String, _ make: @escaping @MainActor (Holdings) async throws -> Model
  ) async throws -> Model {
    let open = models[id] ?? begin(id, make)
    guard let model = try await open.task.value as? Model else {
      preconditionFailure("an id begins with the name of its feature, which has one model")
    }
    return model
  }

  private func begin<Model: AnyObject & Sendable>(
    _ id: String, _ make: @escaping @MainActor (Holdings) async throws -> Model
  ) -> OpenModel {
    let holdings = Holdings { [weak self] in self?.models[id] = nil }
    let task = Task<any AnyObject & Sendable, any Error> {
      do {
        return try await make(holdings)
      } catch {
        await holdings.close()
        throw error
      }
    }
    let open = OpenModel(task: task, holdings: holdings)
    models[id] = open
    return open
  }

  /// Gives up the locks of all files of open models.
  ///
  /// Only an app whose `directory` is in the container of an app group needs it: iOS ends such an
  /// app if it is suspended while it holds a lock. Call it at the end of the time in background.
  /// Nothing is lost: what the links could not store is stored after `resume()`.
  public func suspend() async {
    for open in models.values { await open.holdings.suspend() }
  }

  /// Takes the locks again; call it first when the app runs again.
  ///
  /// - Throws: `.locked` while another process of the app group holds one.
  public func resume() async throws(StoreFailure) {
    for open in models.values { try await open.holdings.resume() }
  }
}

/// What was opened for one model of `HoldfastLinks`.
@MainActor final class Holdings {
  private var stores: [any Store] = []
  /// Called once, at the end of the first `close()`: the next screen gets a new model.
  private var onClose: (@MainActor () -> Void)?

  init(onClose: @escaping @MainActor () -> Void) { self.onClose = onClose }

  /// Returns a store that is closed, suspended and resumed with the model.
  func keep<S: Store>(_ store: S) -> S {
    stores.append(store)
    return store
  }

  /// Gives up the locks of the stores.
  func suspend() async {
    for store in stores { await store.suspend() }
  }

  /// Takes the locks again.
  ///
  /// - Throws: `.locked` while another process holds one.
  func resume() async throws(StoreFailure) {
    for store in stores { try await store.resume() }
  }

  /// Closes the stores; the model is forgotten.
  func close() async {
    for store in stores { await store.close() }
    stores = []
    onClose.take()?()
  }
}

/// Tokens from a closure, such as the app's own sign-in.
public struct TokenClosure: TokenSource {
  private let ask: @Sendable () async throws -> String

  /// Asks a closure for the first token, and for a new one when the old one expires or is refused.
  ///
  /// - Parameter ask: Throws `TokenFailure.rejected` if the user has to sign in again; after any
  ///   other error it is asked again later.
  public init(_ ask: @escaping @Sendable () async throws -> String) { self.ask = ask }

  public func token() async throws(TokenFailure) -> String {
    do {
      return try await ask()
    } catch let failure as TokenFailure {
      throw failure
    } catch {
      throw .unavailable
    }
  }
}
