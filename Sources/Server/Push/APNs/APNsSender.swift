public import HoldfastCore
public import HoldfastFeaturePorts
public import HoldfastPorts
public import HoldfastRelayData
import Synchronization

/// The configuration of pushes to a team's app.
public struct APNsConfiguration: Sendable, Hashable {
  /// The ID of the key, which is in the header of each token. It has 10 characters.
  public var keyID: String
  /// The ID of the team, which is the issuer of the token. It has 10 characters.
  public var team: String
  /// The app's bundle ID. An address with a different bundle ID is refused.
  public var topic: String
  /// The URLs of the services, without a trailing slash.
  public var services: [APNsAddress.Environment: String]
  /// The time-out of one exchange. A push takes at most two exchanges.
  public var timeout: Duration

  /// Creates a configuration with Apple's services, or with `service` in place of both.
  public init(
    keyID: String, team: String, topic: String, service: String? = nil,
    timeout: Duration = .seconds(10)
  ) {
    (self.keyID, self.team, self.topic, self.timeout) = (keyID, team, topic, timeout)
    services = [
      .production: service ?? "https://api.push.apple.com",
      .sandbox: service ?? "https://api.sandbox.push.apple.com",
    ]
  }
}

/// A sender that wakes an app through Apple's push service, over HTTP/2 with a signed token.
///
/// All pushes use one persistent connection. A push is silent and only signals that there is data
/// to fetch. If the service requests a wait or does not respond, pushes are refused until a wait
/// has passed, which grows with each failure. Pushes are never queued.
public final class APNsSender: PushSender {
  private let configuration: APNsConfiguration
  private let network: any HTTPClient
  private let clock: any LinkClock
  private let state: Mutex<State>

  /// Creates a sender.
  ///
  /// - Parameters:
  ///   - network: The HTTP client. It must honor `requiresHTTP2`.
  ///   - generator: The random source for the jitter.
  public init(
    _ configuration: APNsConfiguration, key: ProviderKey, network: any HTTPClient,
    clock: any LinkClock = BootClock(), generator: RandomSource
  ) {
    self.configuration = configuration
    self.network = network
    self.clock = clock
    let tokens = ProviderTokens(key: key, keyID: configuration.keyID, team: configuration.team)
    var generator = generator
    let patience = Patience(generator: RandomSource(seed: generator.next()))
    state = Mutex(State(tokens: tokens, patience: patience, generator: generator))
  }

  /// Sends one push. If the service reports that the token expired, sends it once more with a new
  /// token.
  public func send(_ push: Push) async -> PushOutcome {
    guard case .apns(let address) = push.address,
      let service = configuration.services[address.environment]
    else { return .failed(cause: "the address does not belong to Apple's push service") }
    guard address.topic ?? configuration.topic == configuration.topic else {
      return .failed(cause: "the address belongs to another app")
    }
    return await attempt(push, at: "\(service)/3/device/\(address.token)", address.token)
  }

  private func attempt(
    _ push: Push, at url: String, _ device: String, isSecond: Bool = false
  ) async -> PushOutcome {
    let token: String
    switch admit(device) {
    case .success(let granted): token = granted
    case .failure(let refusal): return refusal.outcome
    }
    let sent = clock.now
    let answer = await exchange(request(push, to: url, token: token))
    if let outcome = finish(answer, device, token: token, sent: sent, isSecond: isSecond) {
      return outcome
    }
    return await attempt(push, at: url, device, isSecond: true)
  }

  private struct Refusal: Error {
    var outcome: PushOutcome
  }

  private func admit(_ device: String) -> Result<String, Refusal> {
    state.withLock { state in
      let now = clock.now
      if let wait = state.patience.wait(at: now) ?? state.holds.wait(device, at: now) {
        return .failure(Refusal(outcome: .tooMany(retryAfter: wait)))
      }
      guard let token = state.tokens.token(at: now, wall: clock.wall) else {
        return .failure(Refusal(outcome: .failed(cause: "the key could not sign")))
      }
      return .success(token)
    }
  }

  private func exchange(_ request: HTTPCall) async -> APNsAnswer {
    do throws(LinkFailure) {
      return APNsAnswer(try await network.send(request))
    } catch {
      // Otherwise, the next push would reuse a dead connection.
      if case .timeout = error { await network.forgetConnections() }
      return .failing(cause: "APNs gave no answer: \(error.failureClass.rawValue)")
    }
  }

  /// Returns the outcome; `nil` if the push must be sent again with another token, which happens at
  /// most once.
  private func finish(
    _ answer: APNsAnswer, _ device: String, token: String, sent: Instant, isSecond: Bool
  ) -> PushOutcome? {
    let now = clock.now
    return state.withLock { state in
      switch answer {
      case .busy(let retryAfter):
        return .tooMany(
          retryAfter: state.patience.failed(sent: sent, at: now, retryAfter: retryAfter))
      case .failing(let cause):
        _ = state.patience.failed(sent: sent, at: now, retryAfter: nil)
        return .failed(cause: cause)
      case .taken, .gone, .tokenExpired, .tooManyForDevice, .refused:
        state.patience.succeeded(sent: sent)
        return state.outcome(of: answer, device, token: token, at: now, isSecond: isSecond)
      }
    }
  }

  private func request(_ push: Push, to url: String, token: String) -> HTTPCall {
    HTTPCall(
      method: "POST", url: url,
      headers: [
        ("authorization", "bearer \(token)"), ("apns-topic", configuration.topic),
        ("apns-push-type", "background"), ("apns-priority", "5"),
        ("apns-expiration", "\(push.expiresAt.seconds)"), ("apns-collapse-id", push.collapseID),
        ("content-type", "application/json"),
      ],
      body: Array(#"{"aps":{"content-available":1}}"#.utf8), timeout: configuration.timeout,
      maxBodyBytes: 4_096, requiresHTTP2: true)
  }
}

/// The state that the sender keeps between pushes.
private struct State {
  var tokens: ProviderTokens
  var patience: Patience
  var holds = Holds()
  var generator: RandomSource

  /// Returns the outcome of a response from a working service; `nil` if the push must be sent
  /// again.
  mutating func outcome(
    of answer: APNsAnswer, _ device: String, token: String, at now: Instant, isSecond: Bool
  ) -> PushOutcome? {
    switch answer {
    case .taken: return .delivered
    case .gone: return .gone
    case .refused(let cause), .failing(let cause): return .failed(cause: cause)
    case .busy(let retryAfter): return .tooMany(retryAfter: retryAfter ?? .zero)
    case .tokenExpired:
      if !isSecond, tokens.expire(token, at: now) { return nil }
      return .failed(cause: "APNs rejected a new token as expired; check this machine's clock")
    case .tooManyForDevice:
      let extra = generator.duration(below: Holds.duration)
      let end = now.advanced(by: Holds.duration + extra)
      holds.hold(device, until: end, at: now)
      return .tooMany(retryAfter: now.duration(to: end))
    }
  }
}
