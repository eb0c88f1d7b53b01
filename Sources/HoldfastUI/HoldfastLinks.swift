import HoldfastFeaturePorts
public import HoldfastPorts
public import Foundation
public import Holdfast

/// The links from an app to one server, and the models that the app's screens share.
///
/// An app creates one instance at its start and keeps it. All parameters except the server and the
/// token have defaults. Data is stored in the folder `Holdfast` of the user's application support
/// directory.
@MainActor public final class HoldfastLinks {
  /// The URL of the server: `https://host[:port]`, or `http://` for the loopback interface.
  ///
  /// A path in the URL is used as a prefix.
  public let server: URL
  /// The directory for stored data.
  public let directory: URL
  let ports: DevicePorts
  let backgroundTime: any BackgroundTime
  let tokens: TokenSource
  /// The task that reads the lifecycle monitor. It begins with the first model.
  private var lifecycleWatch: Task<Void, Never>?
  /// The open models, by feature and id.
  private var models: [String: OpenModel] = [:]

  private struct OpenModel {
    let task: Task<any AnyObject & Sendable, any Error>
    let resources: SharedResources
  }

  /// Creates an instance for a server without opening any link.
  ///
  /// - Parameters:
  ///   - directory: The directory for stored data; `nil` for the default.
  ///   - ports: The parts of the device that all models use.
  ///   - backgroundTime: The source of background time after the app leaves the foreground.
  ///   - tokens: The source of the app's tokens.
  public init(
    server: URL, directory: URL? = nil, ports: DevicePorts = DevicePorts(),
    backgroundTime: any BackgroundTime = HoldfastPlatform.backgroundTime(), tokens: TokenSource
  ) {
    self.server = server
    self.directory = directory ?? Self.applicationSupport.appending(path: "Holdfast")
    (self.ports, self.backgroundTime, self.tokens) = (ports, backgroundTime, tokens)
  }

  /// Creates an instance whose tokens come from a closure.
  ///
  /// - Parameter token: A closure that returns a token, as for a `TokenSource`. It is called for
  ///   the first token, and again when a token expires or is refused. It throws
  ///   `TokenFailure.rejected` if the user has to sign in again.
  public convenience init(
    server: URL, directory: URL? = nil, ports: DevicePorts = DevicePorts(),
    backgroundTime: any BackgroundTime = HoldfastPlatform.backgroundTime(),
    token: @escaping @Sendable () async throws -> String
  ) {
    self.init(
      server: server, directory: directory, ports: ports, backgroundTime: backgroundTime,
      tokens: TokenSource(token))
  }

  deinit { lifecycleWatch?.cancel() }

  private static var applicationSupport: URL {
    FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
      ?? FileManager.default.temporaryDirectory
  }

  /// Returns the path of a feature's folder.
  func folder(_ name: String) -> String {
    directory.appending(path: name).path(percentEncoded: false)
  }

  /// Opens the store of this package's imports for a model.
  func healthStore(_ resources: SharedResources) async throws(StoreFailure) -> any HealthStore {
    resources.keep(try await HoldfastPlatform.readableHealthStore(in: folder("health")))
  }

  /// Returns the shared model with an id. The first call creates the model.
  ///
  /// - Parameter make: A closure that creates the model. It adds every store that it opens to the
  ///   resources, and passes them to the model, which closes them. If it throws an error, the
  ///   resources are closed.
  func shared<Model: AnyObject & Sendable>(
    _ id: String, _ make: @escaping @MainActor (SharedResources) async throws -> Model
  ) async throws -> Model {
    let open = models[id] ?? begin(id, make)
    guard let model = try await open.task.value as? Model else {
      preconditionFailure("an id begins with the name of its feature, which has one model")
    }
    return model
  }

  private func begin<Model: AnyObject & Sendable>(
    _ id: String, _ make: @escaping @MainActor (SharedResources) async throws -> Model
  ) -> OpenModel {
    let resources = SharedResources { [weak self] in self?.models[id] = nil }
    let task = Task<any AnyObject & Sendable, any Error> {
      do {
        return try await make(resources)
      } catch {
        await resources.close()
        throw error
      }
    }
    let open = OpenModel(task: task, resources: resources)
    models[id] = open
    watchLifecycle()
    return open
  }

  /// Tells the models when the lifecycle monitor reports the foreground.
  private func watchLifecycle() {
    guard lifecycleWatch == nil else { return }
    lifecycleWatch = Task { [weak self, lifecycle = ports.lifecycle] in
      for await event in lifecycle.changes() where event == .foreground {
        guard let self else { return }
        for open in self.models.values { open.resources.onForeground?() }
      }
    }
  }

  /// Releases the locks of all files of open models.
  ///
  /// Only an app whose `directory` is in the container of an app group needs this method. iOS
  /// terminates such an app if it is suspended while it holds a lock. Call the method at the end of
  /// the background time. No data is lost: changes that could not be stored are stored after
  /// `resume()`.
  public func suspend() async {
    for open in models.values { await open.resources.suspend() }
  }

  /// Acquires the locks of the stores again. Call this method first when the app runs again.
  ///
  /// - Throws: `.locked` while another process of the app group holds one.
  public func resume() async throws(StoreFailure) {
    for open in models.values { try await open.resources.resume() }
  }
}

/// The stores that were opened for one model of `HoldfastLinks`.
@MainActor final class SharedResources {
  private var stores: [any SuspendableStore] = []
  /// A function that is called once, at the end of `close()`. The next screen then gets a new
  /// model.
  private var onClose: (@MainActor () -> Void)?

  /// A function that connects the model again if its link gave up while the app was in the
  /// background.
  var onForeground: (@MainActor () -> Void)?

  init(onClose: @escaping @MainActor () -> Void) { self.onClose = onClose }

  /// Adds a store and returns it. The store is closed, suspended and resumed together with the
  /// model.
  func keep<S: SuspendableStore>(_ store: S) -> S {
    stores.append(store)
    return store
  }

  /// Releases the locks of the stores.
  func suspend() async {
    for store in stores { await store.suspend() }
  }

  /// Acquires the locks of the stores again.
  ///
  /// - Throws: `.locked` while another process holds one.
  func resume() async throws(StoreFailure) {
    for store in stores { try await store.resume() }
  }

  /// Closes the stores and removes the model.
  func close() async {
    for store in stores { await store.close() }
    stores = []
    onForeground = nil
    onClose.take()?()
  }
}
