public import HoldfastLinkChecks
public import HoldfastMessageChecks
public import HoldfastWorldKernel

/// A deliberate defect of MessageStream.
public enum StreamDefect: String, DeliberateDefect {
  /// The client fetches before it connects, but not afterwards. Messages in between are lost.
  case noSecondFetch
  /// The client connects and fetches, but drops live frames in the meantime.
  case noBuffer
  /// The client requests `since` with exactly the newest stamp.
  case noOverlap
  /// The client assumes that the first page contains everything.
  case firstPageOnly
  /// The client shows messages before they are stored.
  case showsBeforeStored
  case countResetOnOpen
  case noStability
  case takesLateEvents
  /// At each launch, the client forgets the IDs of its messages.
  case forgetsIDs
  /// The client sends messages without an idempotency key.
  case noIdempotencyKey
  case losesStandby
  case noJitter
  /// The client treats positions in a new log as positions in the old log.
  case ignoresEpoch
  case timersStopAsleep
  case closesAlive
  case countsTheDial
  case ignoresRetryAfter
  case refreshesEarly
  case blamesCredentials
  /// The client does not send the user's messages while it is connected.
  case leavesPosts
  /// The client makes two attempts to send a message at the same time.
  case sendsTwice
  /// The client fetches a page when its user leaves.
  case fetchesAfterLeaving
  /// The client fetches after each connect, even if nothing was missed.
  case asksInVain
  /// The server keeps sockets whose token has expired.
  case outlivesToken
  /// The client does not store edits.
  case dropsEdits
  /// The client replaces the text of a message by an older one, which a late page brings.
  case takesOldVersions
  /// The client stores a deleted message again, which a late page brings.
  case revivesDeleted
  /// The client sends a message with an image without its upload.
  case postsBeforeUpload
  /// The client repeats a message with another image.
  case swapsImages
  /// The server keeps the images of deleted messages.
  case keepsImages
  /// After a new epoch, the client keeps messages that the pages of the log do not have.
  case coversNothing
  /// After a new epoch, the client removes all messages that its first page does not have.
  case coversAll

  public var catchable: [ServerKind] {
    switch self {
    // With positions, the head and the offsets reveal the missed messages, even if the client does
    // not fetch or buffer.
    case .noSecondFetch, .noBuffer: [.plain]
    // Only a catch-up by time has an overlap and fetches known messages again.
    case .noOverlap, .forgetsIDs: [.plain]
    // A plain server has no keys and no epochs.
    case .noIdempotencyKey, .ignoresEpoch: [.positions]
    // Only a head shows that nothing was missed.
    case .asksInVain: [.positions]
    // A plain server sends no events.
    case .dropsEdits, .takesOldVersions, .revivesDeleted: [.positions]
    case .coversNothing, .coversAll: [.positions]
    case .firstPageOnly, .showsBeforeStored, .countResetOnOpen, .noStability, .takesLateEvents,
      .losesStandby, .noJitter, .timersStopAsleep, .closesAlive, .ignoresRetryAfter,
      .refreshesEarly,
      .blamesCredentials, .countsTheDial, .leavesPosts, .sendsTwice, .fetchesAfterLeaving,
      .outlivesToken, .postsBeforeUpload, .swapsImages, .keepsImages:
      ServerKind.allCases
    }
  }

  public var kinds: [Finding.Kind] {
    switch self {
    case .noSecondFetch, .noBuffer, .noOverlap, .firstPageOnly, .ignoresEpoch: [.lost, .early]
    case .showsBeforeStored: [.early]
    case .forgetsIDs, .noIdempotencyKey: [.duplicated]
    case .leavesPosts: [.stuck]
    case .sendsTwice, .fetchesAfterLeaving: [.storm]
    case .asksInVain: [.needless]
    case .outlivesToken: [.outlived]
    case .dropsEdits: [.early, .outdated]
    case .takesOldVersions, .revivesDeleted, .coversNothing: [.outdated]
    case .coversAll: [.lost]
    case .postsBeforeUpload, .swapsImages, .keepsImages: [.orphaned]
    case .countResetOnOpen, .noStability, .noJitter, .takesLateEvents, .losesStandby,
      .timersStopAsleep, .closesAlive, .ignoresRetryAfter, .refreshesEarly, .blamesCredentials,
      .countsTheDial:
      link?.kinds ?? []
    }
  }

  public var seeds: Int {
    switch self {
    // The defect shows only if the log starts over while the client is away, a server closes twice,
    // or a stamp is late.
    case .ignoresEpoch, .noJitter, .noOverlap: 50
    // The defect shows only if an answer is so slow that frames overtake it, and the next catch-up
    // does not reach back.
    case .noBuffer: 100
    // The defect shows only if a page follows an edit or a deletion.
    case .takesOldVersions, .revivesDeleted: 50
    // The defect shows only if a server drains or refuses for a long time, or if a link wavers.
    case .ignoresRetryAfter, .countsTheDial: 100
    // The defect shows only if a message with an image is deleted, or sent twice.
    case .postsBeforeUpload, .swapsImages, .keepsImages: 100
    // The defect shows only if the log begins anew while the phone is away.
    case .coversNothing, .coversAll: 200
    case .noSecondFetch, .firstPageOnly, .showsBeforeStored, .countResetOnOpen, .noStability,
      .takesLateEvents, .forgetsIDs, .noIdempotencyKey, .losesStandby, .timersStopAsleep,
      .closesAlive, .refreshesEarly, .blamesCredentials, .leavesPosts, .sendsTwice,
      .fetchesAfterLeaving, .asksInVain, .outlivesToken, .dropsEdits:
      20
    }
  }
}
