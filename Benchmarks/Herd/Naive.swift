import HoldfastCore

/// A retry rule that ignores other clients. Each rule is used by existing libraries.
public enum Naive: String, Sendable, Hashable, CaseIterable {
  /// A constant wait.
  case fixed = "fixed-1s"
  /// Exponential back-off without jitter.
  case doubling = "exponential"
  /// An immediate attempt, then exponential back-off with a low cap and without jitter.
  case immediate = "immediate-first"

  /// A description of the rule, and the libraries that use it.
  public var likeness: String {
    switch self {
    case .fixed: "1s for ever, no jitter (nats.swift waits a fixed 2s)"
    case .doubling: "1s doubling to 128s, no jitter (CocoaMQTT; supabase-swift from 7s to 30s)"
    case .immediate:
      "0s, then 1s doubling to 30s, no spread (Stream, Signal and LiveKit try first at once)"
    }
  }

  /// Returns the wait before attempt `index` (from 0) after a loss.
  func wait(before index: Int) -> Duration {
    switch self {
    case .fixed: .seconds(1)
    case .doubling: .seconds(index < 7 ? 1 << index : 128)
    case .immediate: index == 0 ? .zero : .seconds(index < 6 ? 1 << (index - 1) : 30)
    }
  }

  /// The time limit of an attempt.
  static let connectTimeout = Duration.seconds(10)
  /// The time without received bytes after which a connection is abandoned.
  static let silence = Duration.seconds(60)
}

/// A client with a naive rule. It has no rate limits and no polling, and ignores the server's
/// requests.
struct NaiveClient: HerdClient {
  private let rule: Naive
  private var state = State.waiting
  private var failures = 0
  private(set) var deadline: Instant?

  private enum State {
    case waiting, opening, connected
  }

  init(_ rule: Naive) {
    self.rule = rule
  }

  var isConnected: Bool { state == .connected }
  var hasGivenUp: Bool { false }

  mutating func tick(_ errands: inout Errands) {
    switch state {
    case .waiting: open(&errands)
    case .opening, .connected:
      errands.closes = true
      wait(&errands)
    }
  }

  mutating func take(_ news: HerdNews, _ errands: inout Errands) {
    switch news {
    case .start, .opened:
      state = .connected
      failures = 0
      deadline = errands.now.advanced(by: Naive.silence)
    case .heard: deadline = errands.now.advanced(by: Naive.silence)
    case .lost: wait(&errands)
    case .draining, .polled: break
    }
  }

  private mutating func wait(_ errands: inout Errands) {
    let wait = rule.wait(before: failures)
    failures += 1
    state = .waiting
    deadline = errands.now.advanced(by: wait)
    if wait == .zero { open(&errands) }
  }

  private mutating func open(_ errands: inout Errands) {
    state = .opening
    deadline = errands.now.advanced(by: Naive.connectTimeout)
    errands.opens = true
  }
}
