public import HoldfastCore
import HoldfastLinkChecks
public import HoldfastMessageData

/// A fact that is specific to this world.
public enum StreamFact: Sendable, Equatable {
  /// A change became durable on the phone.
  case stored(TimelineChange, TimelineCommit)
  /// A post became durable on the server. `isNew` is false if its key was already known.
  case accepted(ShopMessage, isNew: Bool)
  /// A message was edited or deleted on the server.
  case changed(ShopEvent)
  /// The log started over under another epoch, or was restored to an earlier state. `head` is its
  /// newest position, and `retained` its content, by position.
  case beganAnew(head: ShopPosition, retained: [ShopMessage])
  /// The server answered that it does not know what happened after a position.
  case forgot
  /// A socket opened, and the server reported a head, which may be false.
  case stated(AttemptID, head: ShopPosition?)
  /// The images that the server has now, ordered by id.
  case images([StoredImage])
  /// An upgrade arrived with a token that expires at the given time.
  case admitted(AttemptID, until: Instant)
}
