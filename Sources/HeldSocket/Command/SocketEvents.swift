import Foundation
import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastHeldSocket
import HoldfastJSON

extension HeldSocket.Event: ShownUpdate {
  /// The paragraph that describes the JSON events in help texts.
  static let details =
    JSONEvents.details + """
      status (status DISCONNECTED|CONNECTING|CONNECTED|RECONNECTING|FAILED, attempt, of, retryIn \
      in seconds, mode live|none, reason), message (text, or binary in base64), sent (count since \
      the start), quality (quality good|degraded|poor), notice (kind, detail).
      """

  var state: LinkState? {
    if case .status(let status) = self { LinkState(status) } else { nil }
  }

  var isNotice: Bool {
    if case .text = self { false } else { true }
  }

  func lines(_ style: Style) -> [String] {
    switch self {
    case .text(let text):
      [
        text.split(separator: "\t", omittingEmptySubsequences: false)
          .map { String($0).printable }.joined(separator: "\t")
      ]
    case .binary(let bytes):
      [NoticeText.line("binary", "a message of \(bytes.count) bytes; --json shows its content")]
    case .quality(let quality): [NoticeText.line("quality", quality.rawValue)]
    case .notice(let notice): [NoticeText.line(notice.kind, notice.description)]
    case .status, .sent, .stored, .proven: []
    }
  }

  func write(to events: JSONEvents) {
    switch self {
    // The command sends lines once and stores none, so that no number covers all of them.
    case .status, .stored, .proven: return
    case .text(let text): events.write("message") { $0.entry("text", text) }
    case .binary(let bytes):
      events.write("message") { $0.entry("binary", bytes.base64EncodedString()) }
    case .quality(let quality): events.write("quality") { $0.entry("quality", quality.rawValue) }
    case .sent(let count): events.write("sent") { $0.entry("count", Int(clamping: count)) }
    case .notice(let notice): events.note(notice.kind, notice.description)
    }
  }
}

extension SocketNotice {
  /// The stable name of the notice, for scripts.
  fileprivate var kind: String {
    switch self {
    case .notConnected: "not-connected"
    case .refused(_, .full): "full"
    case .refused(_, .tooLong): "too-long"
    case .notStored: "not-stored"
    case .standingRefused: "standing-refused"
    case .unproven: "unproven"
    case .unsent: "unsent"
    case .oversized: "oversized"
    }
  }
}
