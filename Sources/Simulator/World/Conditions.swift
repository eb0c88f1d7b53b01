import LinkCore
import LinkWire

/// How things are because of the troubles that last: nothing but a view of the actions under way.
struct Conditions {
  // The network.
  var isHole = false
  var isUnreachable = false
  /// No connection stands for more than some seconds.
  var isFlapping = false
  /// A login page answers; whether the device knows.
  var portal: Portal?
  /// Why no connection comes about.
  var obstacle: Action.Obstacle?
  var bandwidth: Int64
  // The server.
  var restStatus: Int?
  var upgradeStatus: Int?
  var logDelay = Duration.zero
  var isMember = true
  // The phone.
  var isInBackground = false
  var isOpen = true
  var isRealtime = true
  var isReaderSlow = false
  var isKilled = false
  var store = Store.works

  enum Portal {
    case known, unknown
  }

  enum Store {
    case works, full, locked, slow
  }

  init(_ weather: Weather) {
    bandwidth = weather.bandwidth
  }

  mutating func add(_ action: Action) {
    switch action {
    case .background, .suspend: isInBackground = true
    case .leaveScreen: isOpen = false
    case .realtimeOff: isRealtime = false
    case .slowReader: isReaderSlow = true
    case .kill: isKilled = true
    case .blackHole: isHole = true
    case .unreachable, .handover: isUnreachable = true
    case .flap: isFlapping = true
    case .captivePortal(_, let isKnown): portal = isKnown ? .known : portal ?? .unknown
    case .dialsFail(let reason, _): obstacle = reason
    case .narrow(let bytes, _): bandwidth = bandwidth == 0 ? bytes : min(bandwidth, bytes)
    case .restStatus(let status, _): restStatus = status
    case .upgradeStatus(let status, _): upgradeStatus = status
    case .slowStore(let delay, _): logDelay = max(logDelay, delay)
    case .removeMember: isMember = false
    case .storeFull: store = .full
    case .storeLocked: store = .locked
    case .storeSlow: store = store == .works ? .slow : store
    // A device that falls asleep may not find the time to say so.
    case .sleep: break
    case .others, .send, .loadOlder, .pullToRefresh, .retryFailed, .reset, .halfOpen,
      .mappingExpired, .crash, .deploy, .beginAnew, .trim, .dieAfterNextPost, .revokeTokens,
      .oversizedFrame, .malformedFrames, .close, .serverClock, .wallClock:
      break
    }
  }
}

extension Action {
  /// How long it lasts; `nil` for what is over at once.
  var span: Duration? {
    switch self {
    case .background(let span), .suspend(let span), .sleep(let span), .leaveScreen(let span),
      .realtimeOff(let span), .slowReader(let span), .blackHole(let span), .unreachable(let span),
      .flap(let span),
      .crash(let span), .removeMember(let span), .storeFull(let span), .storeLocked(let span),
      .storeSlow(let span):
      span
    case .captivePortal(let span, _), .dialsFail(_, let span), .narrow(_, let span),
      .restStatus(_, let span),
      .upgradeStatus(_, let span), .slowStore(_, let span):
      span
    // The longest time that a process takes to find its end, before.
    case .kill(let span): span + .seconds(1)
    // The drain takes 10 s at most.
    case .deploy(let span): span + .seconds(11)
    case .beginAnew: .seconds(2)
    // It waits for a post so long.
    case .dieAfterNextPost: .seconds(600)
    case .others, .send, .loadOlder, .pullToRefresh, .retryFailed, .reset, .halfOpen, .handover,
      .mappingExpired, .trim, .revokeTokens, .oversizedFrame, .malformedFrames, .close,
      .serverClock, .wallClock:
      nil
    }
  }

  /// What tables call it.
  public var name: String {
    switch self {
    case .others: "others"
    case .send: "send"
    case .loadOlder: "loadOlder"
    case .pullToRefresh: "pullToRefresh"
    case .retryFailed: "retryFailed"
    case .background: "background"
    case .suspend: "suspend"
    case .sleep: "sleep"
    case .leaveScreen: "leaveScreen"
    case .realtimeOff: "realtimeOff"
    case .slowReader: "slowReader"
    case .kill: "kill"
    case .reset: "reset"
    case .halfOpen: "halfOpen"
    case .blackHole: "blackHole"
    case .unreachable: "unreachable"
    case .flap: "flap"
    case .handover: "handover"
    case .mappingExpired: "mappingExpired"
    case .captivePortal: "captivePortal"
    case .dialsFail: "dialsFail"
    case .narrow: "narrow"
    case .crash: "crash"
    case .deploy: "deploy"
    case .beginAnew: "beginAnew"
    case .trim: "trim"
    case .restStatus: "restStatus"
    case .upgradeStatus: "upgradeStatus"
    case .dieAfterNextPost: "dieAfterNextPost"
    case .slowStore: "slowStore"
    case .revokeTokens: "revokeTokens"
    case .removeMember: "removeMember"
    case .oversizedFrame: "oversizedFrame"
    case .malformedFrames: "malformedFrames"
    case .close: "close"
    case .serverClock: "serverClock"
    case .storeFull: "storeFull"
    case .storeLocked: "storeLocked"
    case .storeSlow: "storeSlow"
    case .wallClock: "wallClock"
    }
  }
}
