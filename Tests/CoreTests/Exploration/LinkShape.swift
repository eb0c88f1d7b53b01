@testable import HoldfastCore

/// The properties of a link that distinguish states of the exploration. They ignore time.
struct LinkShape: Hashable {
  var state: State
  var series: Series?
  var isStable = false
  var isAsked = false
  var isOlder = false
  var intent: ConnectionIntent
  var isReachable = false
  var lifecycle: AppLifecycle
  var isLeaving: Bool
  var credentials: Credentials.State
  var isRefreshing: Bool
  var isUnproven: Bool
  var isRefused: Bool
  var isRenewedInVain: Bool
  var standby: Standby

  init(_ link: HeldLink, at now: Instant) {
    intent = link.gate.intent
    // The identity of the path does not distinguish states. A change of the path is an event.
    if case .reachable = link.gate.reachability { isReachable = true }
    lifecycle = link.gate.lifecycle
    isLeaving = link.gate.leavesAt != nil
    credentials = link.gate.credentials.state
    isRefreshing = link.gate.credentials.isRefreshing
    isUnproven = link.gate.credentials.isUnproven
    isRefused = link.gate.credentials.isRefused
    isRenewedInVain = link.gate.credentials.isRenewedInVain
    switch link.standby.state {
    case .off: standby = .off
    case .queued: standby = .queued
    case .rearming: standby = .rearming
    case .polling(let polling):
      standby = .polling(polling.server, isSlow: polling.isSlow)
    }
    (state, series) = Self.parts(link.state)
    if series?.jitterWindow != nil { series?.jitterWindow = .seconds(1) }
    switch link.state {
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      isOlder = trying.generation < link.gate.credentials.generation
    case .ready(let ready):
      isOlder = ready.generation < link.gate.credentials.generation
      isStable = ready.stableAt == nil
      isAsked = ready.drainWindow != nil
    case .idle, .held, .debouncing, .waiting, .refreshing, .resting, .failed:
      break
    }
  }

  private static func parts(_ state: HeldLink.State) -> (State, Series?) {
    switch state {
    case .idle(let reason): (.idle(reason.map(kind)), nil)
    case .held(let held): (held.blockedReason == .background ? .left : .held, held.series)
    case .debouncing(let debouncing): (.debouncing, debouncing.series)
    case .waiting(let waiting): (.waiting, waiting.series)
    case .refreshing(let refreshing):
      (.refreshing(isFirst: refreshing.failure == nil), refreshing.series)
    case .preparing(let trying): (.preparing, trying.series)
    case .opening(let trying): (.opening, trying.series)
    case .establishing(let trying): (.establishing, trying.series)
    case .ready(let ready): (.ready, ready.series)
    case .resting: (.resting, nil)
    case .failed(let reason): (.failed(kind(reason)), nil)
    }
  }

  private static func kind(_ reason: LinkStatus.Reason) -> Kind {
    switch reason {
    case .blocked: .blockedReason
    case .failure: .failure
    case .signIn: .signIn
    case .exhausted: .exhausted
    case .ended: .ended
    case .debouncing: .debouncing
    case .limited: .limited
    }
  }

  enum State: Hashable {
    case idle(Kind?)
    case held, left, debouncing, waiting
    case refreshing(isFirst: Bool)
    case preparing, opening, establishing, ready, resting
    case failed(Kind)
  }

  enum Kind: Hashable {
    case blockedReason, failure, signIn, exhausted, ended, debouncing, limited
  }

  enum Standby: Hashable {
    case off, queued, rearming
    case polling(HoldfastCore.Standby.Server, isSlow: Bool)
  }
}
