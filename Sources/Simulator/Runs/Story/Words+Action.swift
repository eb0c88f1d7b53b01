import LinkCore

extension Action {
  /// Whether a person does it, rather than that it befalls.
  var isOfPeople: Bool {
    switch self {
    case .others, .send, .loadOlder, .pullToRefresh, .retryFailed, .background, .suspend,
      .leaveScreen, .realtimeOff, .slowReader:
      true
    case .sleep, .kill, .reset, .halfOpen, .blackHole, .unreachable, .flap, .handover,
      .mappingExpired,
      .captivePortal, .dialsFail, .narrow, .crash, .deploy, .beginAnew, .trim, .restStatus,
      .upgradeStatus,
      .dieAfterNextPost, .slowStore, .revokeTokens, .removeMember, .oversizedFrame,
      .malformedFrames, .close, .serverClock, .storeFull, .storeLocked, .storeSlow, .wallClock:
      false
    }
  }
}

extension Words {
  /// What a planned thing is, as a person would say it.
  static func action(_ action: Action) -> String {
    let time = length(action.length)
    return switch action {
    case .others(let messages): "others post \(count(messages, "message"))"
    case .send: "writes a message"
    case .loadOlder: "wants older messages"
    case .pullToRefresh: "wants to see what is new"
    case .retryFailed: "wants what failed to be sent again"
    case .background: "looks at another app for \(time)"
    case .suspend: "looks at another app for \(time), and this one is suspended"
    case .sleep: "the phone sleeps for \(time)"
    case .leaveScreen: "looks at another screen for \(time)"
    case .realtimeOff: "wants no real-time messages for \(time)"
    case .slowReader: "leaves so much unread that no more is taken for \(time)"
    case .kill: "the app dies, and is launched again after \(time)"
    case .reset: "every connection is reset"
    case .halfOpen: "every connection goes dead without a word"
    case .blackHole: "nothing passes for \(time), and nobody is told"
    case .unreachable: "no way out for \(time)"
    case .flap: "every connection is reset some seconds after it opens, for \(time)"
    case .handover: "another network takes over"
    case .mappingExpired: "idle connections are forgotten on the way"
    case .captivePortal(_, true): "a login page is in the way for \(time)"
    case .captivePortal(_, false): "a login page is in the way for \(time), unknown to the phone"
    case .dialsFail(let obstacle, _): "\(words(for: obstacle)) for \(time)"
    case .narrow(let bytes, _): "only \(bytes) bytes a second for \(time)"
    case .crash: "the server crashes, and is back after \(time)"
    case .deploy: "the server closes all connections for a new version, back after \(time)"
    case .beginAnew(let kept): "the server's log begins anew with its newest \(kept)"
    case .trim(let kept): "the server forgets all but its newest \(kept)"
    case .restStatus(let status, _): "every request is answered with \(status) for \(time)"
    case .upgradeStatus(let status, _): "every connection is refused with \(status) for \(time)"
    case .dieAfterNextPost: "the server dies after the next post, before it answers, for \(time)"
    case .slowStore(let delay, _): "the server's store takes \(length(delay)) a call for \(time)"
    case .revokeTokens(let refresh): "all tokens are void; a refresh \(words(for: refresh))"
    case .removeMember: "the user is no member for \(time)"
    case .oversizedFrame: "the server sends something too large"
    case .malformedFrames(let number): "the server sends \(number) things that are no message"
    case .close(let code): "the server closes every connection with \(code)"
    case .serverClock(let jump): "the server's wall clock jumps by \(length(jump))"
    case .storeFull: "the phone's disk is full for \(time)"
    case .storeLocked: "the phone's store is locked for \(time)"
    case .storeSlow: "the phone's store is slow for \(time)"
    case .wallClock(let jump): "the phone's wall clock jumps by \(length(jump))"
    }
  }

  private static func words(for obstacle: Action.Obstacle) -> String {
    switch obstacle {
    case .dns: "the server's name does not resolve"
    case .proxy: "the proxy refuses"
    case .certificate: "somebody else's certificate is shown"
    case .local: "the phone can open no connection"
    }
  }

  private static func words(for refresh: Action.Refresh) -> String {
    switch refresh {
    case .works: "works"
    case .fails: "fails once"
    case .isRefused: "is refused"
    case .hangs: "hangs"
    }
  }
}
