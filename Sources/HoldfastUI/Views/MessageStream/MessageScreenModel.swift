import Holdfast
import HoldfastMessageStream
import HoldfastStorage

/// The part of a model that the list of messages uses.
@MainActor protocol MessageScreenModel: AnyObject, Sendable {
  var messages: [MessageRow] { get }
  var gaps: [ShopGap] { get }
  var waiting: [WaitingRow] { get }
  var connection: ConnectionState { get }
  var hasOlder: Bool { get }
  var notice: StreamNotice? { get }
  var phase: OpeningPhase { get }

  func follow() async
  func retry()
  func send(accepting text: String) async throws
  func retry(_ row: WaitingRow)
  func discard(_ row: WaitingRow)
  func dismissNotice()
  func refreshAll() async
  func reconnect()
  func loadOlder()
}

extension ShopMessages: MessageScreenModel {
  /// Sends a text, and waits until the server has it or `waiting` shows what became of it.
  ///
  /// - Throws: An error only if the text was not accepted.
  func send(accepting text: String) async throws {
    if phase.error == .closed { throw OpenError.closed }
    if opening.isPreview {
      enqueue(text)
      return
    }
    do {
      let _: MessageRow = try await send(text)
    } catch OpenError.closed {
      // The shop was closed while the message was on its way. It is not offered to be sent twice.
      return
    } catch let error as SendError {
      // The row of an accepted message says that it has failed.
      if !waiting.contains(where: { $0.id == error.id }), error.reason != .discarded {
        throw error
      }
    }
  }

  /// Fetches new messages. `connection` and `notice` say why they cannot be fetched.
  func refreshAll() async { try? await refresh() }
}
