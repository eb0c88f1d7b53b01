import CurlNetwork
import LinkCore
public import LinkRuntime
import LinkWire
import PushAPNs
import PushHook

/// How a backend wakes phones in background; by default not at all.
public struct PushConfiguration: Sendable, Hashable {
  /// Wakes iPhones.
  public var apns: APNs?
  /// An executable file that is run for each push to a `hook` address.
  public var hook: String?

  /// No way to wake anybody.
  public init() {}

  /// What Apple gave a team for its push service.
  public struct APNs: Sendable, Hashable {
    /// The `.p8` file, for its owner's eyes.
    public var keyPath: String
    /// The key's id, 10 characters.
    public var keyID: String
    /// The team's id, 10 characters.
    public var team: String
    /// The app's bundle id.
    public var topic: String
    /// Takes the place of Apple's services; `https` only.
    public var service: String?
    /// A PEM file of authorities trusted besides the system's.
    public var authorities: String?

    /// Names the key; it is read when the backend starts.
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

  /// What sends the pushes, with its files read; `nil` when no way is configured.
  ///
  /// Throws `.file` or `.openToOthers` for the key, `.file` too when the network has no thread,
  /// `.hook` for a program that cannot be run.
  public func open() throws(BackendError) -> (any PushSender)? {
    guard apns != nil || hook != nil else { return nil }
    let sender = hook.map { HookSender(program: $0) }
    if let hook, let obstacle = sender?.obstacle { throw .hook(path: hook, detail: obstacle) }
    return PushWays(apns: try apns?.open(), hook: sender)
  }
}

extension PushConfiguration.APNs {
  fileprivate func open() throws(BackendError) -> any PushSender {
    let key: ProviderKey
    do {
      key = try ProviderKey(path: keyPath)
    } catch {
      switch error {
      case .unreadable(let path, let detail): throw .file(path: path, detail: detail)
      case .openToOthers(let path): throw .openToOthers(path: path)
      case .unusable: throw .file(path: keyPath, detail: error.description)
      }
    }
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
      chance: Chance(seed: UInt64.random(in: 0 ... .max)))
  }
}

/// Sends each push the way that its address names.
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
