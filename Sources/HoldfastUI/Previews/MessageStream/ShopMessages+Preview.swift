public import Holdfast
import HoldfastCore
public import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts

extension ShopMessages {
  /// Returns a model for previews and for tests of an app's screens. It uses no network, no disk and
  /// no clock.
  ///
  /// A text that is sent to it stays in `waiting`. Other methods have no effect.
  ///
  /// - Parameters:
  ///   - messages: The messages, in any order.
  ///   - gaps: The gaps between the messages.
  ///   - waiting: The messages that the server does not have yet.
  ///   - connection: The state of the connection, with a reason and the time of the next attempt.
  ///   - hasOlder: Whether older messages may be available.
  ///   - notice: The most recent problem.
  ///   - phase: Whether the shop is open.
  public static func preview(
    _ messages: [ShopMessage] = [], gaps: [ShopGap] = [], waiting: [WaitingRow] = [],
    connection: ConnectionState = .live, hasOlder: Bool = false,
    notice: StreamUpdate.Notice? = nil, phase: OpeningPhase = .open
  ) -> ShopMessages {
    let shop = messages.first?.shop ?? waiting.first?.entry.shop ?? .sample
    let model = ShopMessages(
      shop, Opening(previewing: phase), clock: PreviewClock(), backgroundTime: UnlimitedTime())
    model.take(.messages(messages, via: .live))
    for gap in gaps { model.take(.gap(gap)) }
    for row in waiting { model.take(.outbox(row.entry)) }
    model.take(.history(hasMore: hasOlder))
    if let notice { model.take(.notice(notice)) }
    model.connection = connection
    return model
  }
}
