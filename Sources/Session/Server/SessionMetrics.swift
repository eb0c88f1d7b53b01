import HoldfastCore
public import HoldfastServerParts

/// The counters of the session server since its start.
struct SessionMetrics: Sendable, Hashable {
  var opened: UInt64 = 0
  var refused: UInt64 = 0
  var connected: UInt64 = 0
  var unauthorized: UInt64 = 0
  var outdated: UInt64 = 0
  var silent: UInt64 = 0
  var slowReaders: UInt64 = 0
  var messages: UInt64 = 0
  var unreadable: UInt64 = 0
  /// The number of refused messages, by code.
  var errors: [String: UInt64] = [:]
  var prompts: UInt64 = 0
  /// The number of prompts that clients sent again.
  var repeated: UInt64 = 0
  var started: UInt64 = 0
  /// The number of ended prompts, by outcome.
  var answered: [String: UInt64] = [:]
  var acknowledged: UInt64 = 0
  var replayed: UInt64 = 0
  /// The number of answers that were removed before their client acknowledged them.
  var lost: UInt64 = 0
  /// The number of clients to which a loss was reported.
  var unrecovered: UInt64 = 0
  var storeFailures: UInt64 = 0
  /// The refused upgrades.
  var refusals = RefusalCounts()
}

extension SessionServer {
  /// The health of the service: whether it accepts work, and whether the last change was stored.
  public var serviceHealth: ServiceHealth {
    ServiceHealth(
      isServing: mode == .serving, storeFailure: writes.failure, of: Self.storeName)
  }

  public static var storeName: String { "the session store" }

  /// Adds the server's metrics to the backend's page.
  public func report(to page: inout MetricsPage) {
    page.one("session_sockets", .gauge, "Open sockets.", UInt64(sockets.count))
    page.one("session_clients", .gauge, "Clients that are remembered.", UInt64(clients.count))
    page.one(
      "session_prompts_open", .gauge, "Prompts without an answer.", UInt64(prompts.openCount))
    page.one("session_handlers", .gauge, "Handlers that run.", UInt64(max(prompts.running, 0)))
    page.one(
      "session_answers", .gauge, "Answers that are remembered with their keys.",
      UInt64(prompts.ended.count))
    page.one(
      "session_history_bytes", .gauge, "Bytes of histories.", UInt64(max(conversations.bytes, 0)))
    page.counters(
      of: metrics,
      [
        ("session_opened", "Sockets accepted.", \.opened),
        ("session_refused", "Upgrades refused.", \.refused),
        ("session_connected", "Clients connected.", \.connected),
        ("session_unauthorized", "Sockets closed for a wrong key.", \.unauthorized),
        ("session_outdated", "Sockets closed for their version.", \.outdated),
        ("session_silent", "Sockets dropped for silence.", \.silent),
        ("session_slow_readers", "Sockets cut for reading slowly.", \.slowReaders),
        ("session_messages", "Messages of clients.", \.messages),
        ("session_unreadable", "Invalid messages of clients.", \.unreadable),
      ])
    page.counters("session_errors", "Messages refused.", by: "code", metrics.errors)
    reportPrompts(to: &page)
    page.refusals.add(metrics.refusals)
    page.refusals.add(.unauthorized, metrics.unauthorized)
    page.refusals.add(.store, metrics.storeFailures)
    page.use(of: .sessions, sockets.count, of: policy.maxSockets)
    page.use(of: .addressSessions, sockets.mostFromAddress, of: policy.socketsPerAddress)
  }

  private func reportPrompts(to page: inout MetricsPage) {
    page.counters(
      of: metrics,
      [
        ("session_prompts", "Prompts taken.", \.prompts),
        ("session_repeated", "Prompts sent again.", \.repeated),
        ("session_started", "Handlers started.", \.started),
      ])
    page.counters("session_answered", "Prompts that ended.", by: "outcome", metrics.answered)
    page.counters(
      of: metrics,
      [
        ("session_acknowledged", "Answers acknowledged.", \.acknowledged),
        ("session_replayed", "Answers sent again.", \.replayed),
        ("session_lost", "Answers removed before they were acknowledged.", \.lost),
        ("session_unrecovered", "Clients told of a loss.", \.unrecovered),
        ("session_store_failures", "Changes that could not be stored.", \.storeFailures),
      ])
  }
}
