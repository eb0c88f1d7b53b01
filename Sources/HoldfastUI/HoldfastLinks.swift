public import Foundation
public import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
public import HoldfastPorts
import HoldfastRelayData
public import Observation

/// The links from an app to one server, and the models that the app's screens share.
///
/// An app creates one instance for each directory at its start and keeps it. All parameters except the server and the
/// token have defaults. Data is stored in the folder `Holdfast` of the user's application support
/// directory. A method such as `shop(_:)` returns a model at once; the model's `phase` says whether
/// its feature is open.
@MainActor @Observable public final class HoldfastLinks {
  /// The URL of the server: `https://host[:port]`, or `http://` for the loopback interface.
  ///
  /// A path in the URL is used as a prefix.
  public let server: URL
  /// The directory for stored data.
  public let directory: URL
  /// The parts of the device that a launch has created for single features.
  @ObservationIgnored public var parts = LinkParts()
  /// The reason why the next wake was not scheduled; `nil` if it was, or if no wakes are used.
  public internal(set) var wakeFailure: WakeFailure?
  /// The reason why the address for pushes was not registered; `nil` if there is none.
  public internal(set) var pushFailure: LinkFailure?

  @ObservationIgnored private(set) var ports: DevicePorts
  /// The source of background time after the app leaves the foreground; `nil` for the platform's.
  @ObservationIgnored private var time: (any BackgroundTime)?
  @ObservationIgnored let tokens: TokenSource
  /// The models that are open, being opened or could not be opened, by feature and id.
  @ObservationIgnored private(set) var models: [String: any SharedModel] = [:]
  /// The models that a sign-out closes.
  @ObservationIgnored private var leaving: [any SharedModel] = []
  /// The source of wakes, and the identifier of the task for which it wakes the app regularly.
  @ObservationIgnored var wakes: (source: any WakeSource, task: String)?
  /// Whether a wake was scheduled in this run, and was not cancelled since.
  @ObservationIgnored var isWakeScheduled = false
  /// The address for pushes, once the system has supplied it in this run. It belongs to the device
  /// and not to the user.
  @ObservationIgnored var pushAddress: PushAddress?
  /// Whether the address could not be registered, because the device is locked.
  @ObservationIgnored var isPushWaiting = false
  /// The tasks that a sign-out ends.
  @ObservationIgnored let userTasks = UserTasks()
  /// The task that reads the lifecycle monitor. It begins with the first model, or with an address
  /// for pushes that waits.
  @ObservationIgnored private var lifecycleWatch: Task<Void, Never>?
  /// The links of this process.
  private static var all: [Weak] = []

  private struct Weak { weak var links: HoldfastLinks? }

  /// The sign-out in progress.
  @ObservationIgnored private(set) var signingOut: Task<StoreFailure?, Never>?

  /// Creates an instance for a server without opening any link.
  ///
  /// - Parameters:
  ///   - directory: The directory for stored data; `nil` for the default.
  ///   - ports: The parts of the device that all models use.
  ///   - backgroundTime: The source of background time after the app leaves the foreground; `nil` for
  ///     the default. `HoldfastDelegate` supplies both this and the lifecycle monitor of the ports if
  ///     the app does not.
  ///   - tokens: The source of the app's tokens.
  public init(
    server: URL, directory: URL? = nil, ports: DevicePorts = DevicePorts(),
    backgroundTime: (any BackgroundTime)? = nil, tokens: TokenSource
  ) {
    self.server = server
    self.directory = directory ?? Self.applicationSupport.appending(path: "Holdfast")
    (self.ports, time, self.tokens) = (ports, backgroundTime, tokens)
    Self.all.removeAll { $0.links == nil }
    Self.all.append(Weak(links: self))
  }

  /// Creates an instance whose tokens come from a closure.
  ///
  /// - Parameter token: A closure that returns a token, as for a `TokenSource`. It is called for
  ///   the first token, and again when a token expires or is refused. It throws
  ///   `TokenFailure.rejected` if the user has to sign in again.
  public convenience init(
    server: URL, directory: URL? = nil, ports: DevicePorts = DevicePorts(),
    backgroundTime: (any BackgroundTime)? = nil,
    token: @escaping @Sendable () async throws -> String
  ) {
    self.init(
      server: server, directory: directory, ports: ports, backgroundTime: backgroundTime,
      tokens: TokenSource(token))
  }

  deinit { lifecycleWatch?.cancel() }

  /// The source of background time after the app leaves the foreground.
  var backgroundTime: any BackgroundTime { time ?? HoldfastPlatform.backgroundTime() }

  /// Uses these parts of the running app where the app has passed none.
  func supply(_ parts: @MainActor () -> RunningApp) {
    let hasLifecycle = !(ports.lifecycle is AlwaysForeground)
    if hasLifecycle, time != nil { return }
    let parts = parts()
    time = time ?? parts.time
    guard !hasLifecycle else { return }
    ports.lifecycle = parts.lifecycle
    guard let watch = lifecycleWatch.take() else { return }
    watch.cancel()
    watchLifecycle()
  }

  private static var applicationSupport: URL {
    FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
      ?? FileManager.default.temporaryDirectory
  }

  /// A folder of one feature.
  enum Folder: String, CaseIterable {
    case shops, session, bottle, relay, health, sync
  }

  /// Returns the path of a feature's folder.
  func folder(_ folder: Folder) -> String {
    directory.appending(path: folder.rawValue).path(percentEncoded: false)
  }

  /// Opens the store of this package's imports for a model.
  func healthStore(_ resources: SharedResources) async throws(StoreFailure) -> any HealthStore {
    resources.keep(try await HoldfastPlatform.readableHealthStore(in: folder(.health)))
  }

  /// Returns the shared model with an id. The first call creates the model and begins to open it.
  ///
  /// - Parameter make: A closure that creates the model with an `opening(_:_:)`.
  func shared<Model: SharedModel>(_ id: String, _ make: (SharedResources) -> Model) -> Model {
    if let open = models[id] {
      guard let model = open as? Model else {
        preconditionFailure("an id begins with the name of its feature, which has one model")
      }
      return model
    }
    let model = make(
      SharedResources { [weak self] closed in
        // A closed model does not remove the one that followed it.
        if self?.models[id]?.resources === closed { self?.models[id] = nil }
      })
    models[id] = model
    model.opening.begin()
    watchLifecycle()
    return model
  }

  /// Returns an opening that waits for the sign-out in progress.
  ///
  /// - Parameter make: A closure that opens the feature. It adds every store that it opens to the
  ///   resources. If it throws an error, these stores are closed.
  func opening<Feature: Sendable>(
    _ resources: SharedResources,
    _ make: @escaping @MainActor (HoldfastLinks, SharedResources) async throws -> Feature
  ) -> Opening<Feature> {
    Opening(resources) { [weak self] in
      self?.signingOut.map { task in Task { _ = await task.value } }
    } _: { [self] resources in
      do {
        let feature = try await make(self, resources)
        scheduleFirstWake()
        return feature
      } catch {
        throw explained(error)
      }
    }
  }

  /// Returns the error of an opening, with the remedy if other links of this process have the stores
  /// open.
  private func explained(_ error: any Error) -> OpenError {
    let error = OpenError(opening: error)
    guard case .store(.locked(let detail)) = error,
      Self.all.contains(where: { $0.links !== self && $0.links?.folder(.shops) == folder(.shops) })
    else { return error }
    return .store(.locked(detail: detail + " Use one HoldfastLinks for each directory."))
  }

  /// Tells the models when the lifecycle monitor reports the foreground.
  ///
  /// A store that was locked before the first unlock of the device is opened then, too.
  func watchLifecycle() {
    guard lifecycleWatch == nil else { return }
    lifecycleWatch = Task { [weak self, lifecycle = ports.lifecycle] in
      for await notice in lifecycle.changes() {
        guard let self else { return }
        switch notice.event {
        case .foreground:
          for model in self.models.values { model.resources.onForeground?() }
        case .protectedData: break
        case _: continue
        }
        for model in self.models.values { model.retryIfLocked() }
        if self.isPushWaiting { self.registerPush() }
      }
    }
  }

  /// Closes all models, and removes everything that was stored for the user.
  ///
  /// The token of the pairing, messages, conversations, drinks, imported health data and waiting
  /// batches are removed. Uploads that the system makes, the next wake and questions in progress are
  /// cancelled. The server is asked to end the pairings; the call waits at most 5 s for its answer.
  /// The source of tokens belongs to the app, which signs out there first. The models that are closed
  /// then show nothing of the user, also on a screen that stays. Messages and prompts that were sent
  /// while their model was being opened are not kept.
  ///
  /// Afterwards, models can be opened again: a model that is requested in the meantime is a new one,
  /// and is opened after the end of this call. The device's address for pushes is registered again
  /// with the next pairing. The call runs to completion even if the calling task is cancelled.
  ///
  /// - Throws: The first failure. All that could be removed is removed nevertheless.
  public func signOut() async throws(StoreFailure) {
    let task = signingOut ?? beginSignOut()
    if let failure = await task.value { throw failure }
  }

  /// Begins a sign-out, which closes the models that there are now. Later ones wait for its end.
  private func beginSignOut() -> Task<StoreFailure?, Never> {
    cancelWake()
    (leaving, models) = (Array(models.values), [:])
    for model in leaving { model.drop() }
    let task = Task { await self.removeAll() }
    signingOut = task
    return task
  }

  private func removeAll() async -> StoreFailure? {
    let ending = Task { await endPairings() }
    await userTasks.end()
    for model in leaving {
      await model.close()
      model.clear()
    }
    leaving = []
    await endSync()
    await ending.value
    defer { signingOut = nil }
    var failure: StoreFailure?
    do throws(StoreFailure) {
      try pairing.write(nil)
    } catch {
      failure = error
    }
    (pushFailure, isPushWaiting) = (nil, false)
    for folder in Folder.allCases {
      let path = self.folder(folder)
      guard FileManager.default.fileExists(atPath: path) else { continue }
      do {
        try FileManager.default.removeItem(atPath: path)
      } catch {
        failure = failure ?? .denied(detail: "\(path) cannot be removed")
      }
    }
    return failure
  }

  /// Releases the locks of all files of open models.
  ///
  /// Only an app whose `directory` is in the container of an app group needs this method. iOS
  /// terminates such an app if it is suspended while it holds a lock. Call the method at the end of
  /// the background time. No data is lost: changes that could not be stored are stored after
  /// `resume()`.
  public func suspend() async {
    for model in leaving + models.values { await model.resources.suspend() }
  }

  /// Acquires the locks of the stores again. Call this method first when the app runs again.
  ///
  /// - Throws: `.locked` while another process of the app group holds one.
  public func resume() async throws(StoreFailure) {
    for model in leaving { try? await model.resources.resume() }
    for model in models.values { try await model.resources.resume() }
  }
}
