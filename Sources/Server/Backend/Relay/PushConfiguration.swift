import HoldfastCore
import HoldfastCurlNetwork
public import HoldfastFeaturePorts
import HoldfastPush
import HoldfastRelayData

/// The methods by which a backend wakes phones in the background. By default there are none.
public struct PushConfiguration: Sendable, Hashable {
  /// The credentials for waking iPhones.
  public var apns: APNs?
  /// The executable that is run for each push to a `hook` address.
  public var hook: String?

  /// Creates a configuration that sends no pushes.
  public init() {}

  /// A team's credentials for Apple's push service.
  public struct APNs: Sendable, Hashable {
    /// The path of the `.p8` file. Only its owner may have access to the file.
    public var keyPath: String
    /// The ID of the key, which has 10 characters.
    public var keyID: String
    /// The ID of the team, which has 10 characters.
    public var team: String
    /// The bundle ID of the app.
    public var topic: String
    /// The URL of a service to use instead of Apple's. It must use `https`.
    public var service: String?
    /// The path of a PEM file with certificate authorities that are trusted in addition to the
    /// system's.
    public var authorities: String?

    /// Creates the credentials. The key is read when the backend starts.
    public init(
      keyPath: String, keyID: String, team: String, topic: String, service: String? = nil,
      authorities: String? = nil
    ) {
      self.keyPath = keyPath
      self.keyID = keyID
      self.team = team
      self.topic = topic
      self.service = service
      self.authorities = authorities
    }
  }

  /// Reads the files and returns the sender of pushes; `nil` if no method is configured.
  ///
  /// - Throws: `.file` or `.openToOthers` if the key cannot be used, `.file` if the network cannot
  ///   start, and `.hook` if the program cannot be executed.
  public func open() throws(BackendError) -> (any PushSender)? {
    guard apns != nil || hook != nil else { return nil }
    return PushWays(apns: try apns?.open(), hook: try hookSender())
  }

  /// Reads the key and looks at the executable, if they are configured.
  ///
  /// - Throws: `.file`, `.openToOthers` and `.hook` as `open`.
  public func checkFiles() throws(BackendError) {
    _ = try hookSender()
    _ = try apns?.key()
  }

  private func hookSender() throws(BackendError) -> HookSender? {
    guard let hook else { return nil }
    let sender = HookSender(program: hook)
    if let obstacle = sender.obstacle { throw .hook(path: hook, detail: obstacle) }
    return sender
  }
}

extension PushConfiguration.APNs {
  fileprivate func key() throws(BackendError) -> ProviderKey {
    do {
      return try ProviderKey(path: keyPath)
    } catch {
      switch error {
      case .unreadable(let path, let detail): throw .file(path: path, detail: detail)
      case .openToOthers(let path): throw .openToOthers(path: path)
      case .unusable: throw .file(path: keyPath, detail: error.description)
      }
    }
  }

  fileprivate func open() throws(BackendError) -> any PushSender {
    let key = try key()
    let network: CurlNetwork
    do {
      network = try CurlNetwork(CurlConfiguration(authorities: authorities))
    } catch {
      throw .file(path: authorities ?? "the network", detail: "\(error)")
    }
    let configuration = APNsConfiguration(
      keyID: keyID, team: team, topic: topic, service: service)
    return APNsSender(
      configuration, key: key, network: network,
      generator: RandomSource(seed: UInt64.random(in: 0 ... .max)))
  }
}

/// A sender that delivers each push by the method that its address specifies.
struct PushWays: PushSender {
  var apns: (any PushSender)?
  var hook: (any PushSender)?

  func send(_ push: Push) async -> PushOutcome {
    switch push.address {
    case .apns: await apns?.send(push) ?? .failed(cause: "no key of APNs is configured")
    case .hook: await hook?.send(push) ?? .failed(cause: "no hook is configured")
    }
  }
}
