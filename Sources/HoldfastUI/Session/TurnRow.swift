public import Foundation
public import Holdfast
import HoldfastSession
import HoldfastSessionData

/// A turn of a conversation, as a row of a list.
public struct TurnRow: Sendable, Hashable, Identifiable {
  /// The id of the message. For a prompt, this is its idempotency key.
  public var id: String
  /// The author: the user, the assistant, or the system.
  public var role: SessionRole
  /// The text of the turn.
  public var text: String
  /// The time of the turn, if it is known. It is only informative and does not determine the order.
  public var date: Date?
  /// The state of the user's prompt, or `nil` for turns of an earlier run and turns of the server.
  public var state: SessionPromptState.State?
  /// The human-readable reason why a prompt failed.
  public var reason: String?
  var conversation: String

  /// Whether the prompt has failed. The user can then retry or discard it.
  public var hasFailed: Bool { state == .failed || state == .interrupted || state == .unsure }

  /// The idempotency key of a prompt, or `nil` for other turns.
  var key: UUID128? { role == .user ? UUID128(id) : nil }

  /// Creates a row, for previews and tests of an app's screens.
  ///
  /// - Parameter id: The id of the message. For a prompt that can be retried, a UUID.
  public init(
    id: String, role: SessionRole, text: String, date: Date? = nil,
    state: SessionPromptState.State? = nil, reason: String? = nil
  ) {
    (self.id, self.role, self.text, self.date) = (id, role, text, date)
    (self.state, self.reason, conversation) = (state, reason, "")
  }

  init(_ entry: SessionEntry) {
    (id, role, text, conversation) = (entry.id, entry.role, entry.text, entry.conversation)
    date = entry.date
  }

  init(_ prompt: StoredPrompt) {
    (id, role, text) = (prompt.id.description, .user, prompt.text)
    (conversation, date) = (prompt.conversation, prompt.date)
    switch prompt.state {
    case .queued: state = prompt.isAccepted ? .accepted : .queued
    case .failed(let why): (state, reason) = (.failed, why)
    }
  }

  init(_ prompt: SessionPromptState, date: Date) {
    (id, role, text) = (prompt.key.description, .user, prompt.text)
    (conversation, self.date) = (prompt.conversation, date)
    (state, reason) = (prompt.state, prompt.reason)
  }

  /// Updates the row to a newer state. The time of the first state is kept.
  mutating func update(_ row: TurnRow) {
    let (date, state, reason) = (date, state, reason)
    self = row
    self.date = date ?? row.date
    if row.state == nil { (self.state, self.reason) = (state, reason) }
  }
}
