public import Holdfast
import HoldfastSession

extension Conversation {
  /// Returns a model for previews and for tests of an app's screens. It uses no network, no disk and
  /// no clock.
  ///
  /// A prompt that is sent to it stays in `turns`. Other methods have no effect.
  ///
  /// - Parameters:
  ///   - turns: The turns, oldest first.
  ///   - connection: The state of the connection, with a reason and the time of the next attempt.
  ///   - quality: The quality of the connection.
  ///   - gap: The reason why turns are missing.
  ///   - notice: The most recent problem.
  ///   - phase: Whether the session is open.
  public static func preview(
    _ turns: [TurnRow] = [], connection: ConnectionState = .live,
    quality: LinkQuality? = nil, gap: SessionUpdate.Gap? = nil,
    notice: SessionUpdate.Notice? = nil, phase: OpeningPhase = .open
  ) -> Conversation {
    let model = Conversation(nil, Opening(previewing: phase), Dates(clock: PreviewClock()))
    (model.turns, model.connection, model.quality) = (turns, connection, quality)
    (model.gap, model.notice) = (gap, notice)
    return model
  }
}
