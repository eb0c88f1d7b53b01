import LinkCore

/// The counters of the server of sessions since its start.
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
  /// Refusals of single messages, by code.
  var errors: [String: UInt64] = [:]
  var prompts: UInt64 = 0
  /// Prompts that were sent again.
  var repeated: UInt64 = 0
  var started: UInt64 = 0
  /// Prompts that ended, by what came of them.
  var answered: [String: UInt64] = [:]
  var acknowledged: UInt64 = 0
  var replayed: UInt64 = 0
  /// Answers that were removed before they were acknowledged.
  var lost: UInt64 = 0
  /// Clients that were told of a loss.
  var unrecovered: UInt64 = 0
  var storeFailures: UInt64 = 0
}

extension SessionServer {
  /// Whether it takes work, and whether the last change was stored.
  public var serviceHealth: ServiceHealth {
    ServiceHealth(
      isServing: mode == .serving, storeFailure: writes.failure, of: Self.storeName)
  }

  public static var storeName: String { "the session store" }

  /// Adds its metrics to the backend's.
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
    page.one("session_opened_total", .counter, "Sockets accepted.", metrics.opened)
    page.one("session_refused_total", .counter, "Upgrades refused.", metrics.refused)
    page.one("session_connected_total", .counter, "Clients connected.", metrics.connected)
    page.one(
      "session_unauthorized_total", .counter, "Sockets closed for a wrong key.",
      metrics.unauthorized)
    page.one(
      "session_outdated_total", .counter, "Sockets closed for their version.", metrics.outdated)
    page.one("session_silent_total", .counter, "Sockets dropped for silence.", metrics.silent)
    page.one(
      "session_slow_readers_total", .counter, "Sockets cut for reading slowly.",
      metrics.slowReaders)
    page.one("session_messages_total", .counter, "Messages of clients.", metrics.messages)
    page.one(
      "session_unreadable_total", .counter, "Messages that were none.", metrics.unreadable)
    page.many(
      "session_errors_total", .counter, "Messages refused.", Self.rows("code", metrics.errors))
    reportPrompts(to: &page)
  }

  private func reportPrompts(to page: inout MetricsPage) {
    page.one("session_prompts_total", .counter, "Prompts taken.", metrics.prompts)
    page.one("session_repeated_total", .counter, "Prompts sent again.", metrics.repeated)
    page.one("session_started_total", .counter, "Handlers started.", metrics.started)
    page.many(
      "session_answered_total", .counter, "Prompts that ended.",
      Self.rows("outcome", metrics.answered))
    page.one(
      "session_acknowledged_total", .counter, "Answers acknowledged.", metrics.acknowledged)
    page.one("session_replayed_total", .counter, "Answers sent again.", metrics.replayed)
    page.one(
      "session_lost_total", .counter, "Answers removed before they were acknowledged.",
      metrics.lost)
    page.one(
      "session_unrecovered_total", .counter, "Clients told of a loss.", metrics.unrecovered)
    page.one(
      "session_store_failures_total", .counter, "Changes the store failed.",
      metrics.storeFailures)
  }

  private static func rows(
    _ label: String, _ counts: [String: UInt64]
  ) -> [(String, UInt64)] {
    counts.sorted { $0.key < $1.key }.map { ("\(label)=\"\($0.key)\"", $0.value) }
  }
}
