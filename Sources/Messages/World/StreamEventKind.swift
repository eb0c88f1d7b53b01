import HoldfastLinkChecks
public import HoldfastWorldKernel

/// The kinds of planned events of MessageStream, in addition to those of the kernel.
public enum StreamEventKind: String, PlanEventKind {
  // People.
  /// Others post several messages in succession; `number` is how many.
  case others
  /// Others post, edit, delete and reply in succession; `number` is how often.
  case chat
  /// The user posts a message.
  case send
  /// The user posts a message with an image.
  case sendImage
  /// The user edits or deletes one of their own messages. The choice is which.
  case change
  case loadOlder
  case pullToRefresh
  case retryFailed
  /// The user leaves the shop's screen and returns.
  case leaveScreen
  /// The user switches real-time messages off and on again.
  case realtimeOff
  /// The user leaves so many updates unread that the stream is asked to accept no more.
  case slowReader

  // The server.
  /// The server returns with another epoch and keeps only its newest messages.
  case beginAnew
  /// The server returns with another epoch. An equal number of other messages replaces its newest
  /// messages.
  ///
  /// The offset at its head is the same.
  case beginAlike
  /// The server returns under the same epoch, without its newest messages.
  case putBack
  /// Others edit their newest messages.
  case edit
  /// Some messages are deleted, by their authors or by an admin of the shop; `number` is how many.
  case delete
  /// The user opens sockets on other devices; `number` is how many.
  case rivals
  /// The head reported to new sockets is off by `number`.
  case falseHead
  /// New sockets receive only the first message that they missed.
  case shortBacklog
  /// The server's log forgets all offsets except its newest ones.
  case trim
  /// The server removes all messages but the newest ones, as if they were too old; `number` is how
  /// many events stay.
  case remove
  /// The next post becomes durable, but the server dies before it answers.
  case dieAfterNextPost
  /// The next image is stored, but the server dies before it answers.
  case dieAfterNextImage
  /// The server dies when the next message with an image arrives, before it has it.
  case dieBeforeNextImagePost
  /// The next bytes of an image arrive in part.
  case cutNextImage
  /// The user's other devices upload images that no message refers to; `number` is how many.
  case imagesElsewhere
  /// All existing tokens are refused from now on. The choice is the outcome of the next refresh.
  case revokeTokens
  /// The user is temporarily not a member.
  case removeMember
  /// Sockets receive a frame that is too large.
  case oversizedFrame
  /// Sockets receive frames that are not messages.
  case malformedFrames

  /// The declarations of all event kinds.
  public static let forms: [StreamEventKind: EventForm] = [
    .others: EventForm(.count(0...100_000), isOfPeople: true) {
      "others post \(TraceText.count($0.number, "message"))"
    },
    .chat: EventForm(.count(0...100_000), isOfPeople: true) {
      "others write, change and delete \(TraceText.count($0.number, "message"))"
    },
    .send: EventForm(isOfPeople: true) { _ in "writes a message" },
    .sendImage: EventForm(isOfPeople: true) { _ in "writes a message with an image" },
    .change: EventForm(.choice(["edit", "delete"]), isOfPeople: true) {
      $0.choice == "edit" ? "changes an own message" : "deletes an own message"
    },
    .loadOlder: EventForm(isOfPeople: true) { _ in "wants older messages" },
    .pullToRefresh: EventForm(isOfPeople: true) { _ in "wants to see what is new" },
    .retryFailed: EventForm(isOfPeople: true) { _ in "wants what failed to be sent again" },
    .leaveScreen: EventForm(.span, isOfPeople: true) {
      "looks at another screen for \(length($0))"
    },
    .realtimeOff: EventForm(.span, isOfPeople: true) {
      "wants no real-time messages for \(length($0))"
    },
    .slowReader: EventForm(.span, isOfPeople: true) {
      "leaves so much unread that no more is taken for \(length($0))"
    },
    .beginAnew: EventForm(.number(0...100_000), of: .backend, lasting: .exactly(.seconds(2))) {
      "the server's log begins anew with its newest \($0.number)"
    },
    .beginAlike: EventForm(.count(0...100_000), of: .backend, lasting: .exactly(.seconds(2))) {
      "the server's log begins anew with \($0.number) other newest, as long as before"
    },
    .putBack: EventForm(.count(0...100_000), of: .backend, lasting: .exactly(.seconds(2))) {
      "the server's log goes back by \(TraceText.count($0.number, "message"))"
    },
    .edit: EventForm(.count(0...1000), of: .backend) {
      "others change their newest \($0.number)"
    },
    .delete: EventForm(.count(0...1000), of: .backend) {
      "\(TraceText.count($0.number, "message")) are deleted"
    },
    .rivals: EventForm(.number(0...100), .span, of: .backend) {
      "the user holds \(TraceText.count($0.number, "socket")) on other devices for \(length($0))"
    },
    .falseHead: EventForm(.number(-1000...1000), .span, of: .backend) {
      "new sockets are told a head that is off by \($0.number) for \(length($0))"
    },
    .shortBacklog: EventForm(.span, of: .backend) {
      "new sockets are sent only the first of what they missed for \(length($0))"
    },
    .trim: EventForm(.number(0...100_000), of: .backend) {
      "the server forgets all but its newest \($0.number)"
    },
    .remove: EventForm(.number(0...100_000), of: .backend) {
      "the server removes all but its newest \($0.number)"
    },
    // The server waits this long for the next post.
    .dieAfterNextPost: EventForm(.span, of: .backend, lasting: .exactly(.seconds(600))) {
      "the server dies after the next post, before it answers, for \(length($0))"
    },
    // The server waits up to an hour for the image.
    .dieAfterNextImage: EventForm(.span, of: .backend, lasting: .spanAnd(.seconds(3600))) {
      "the server dies after the next image, before it answers, for \(length($0))"
    },
    .dieBeforeNextImagePost: EventForm(.span, of: .backend, lasting: .spanAnd(.seconds(3600))) {
      "the server dies when the next message with an image comes, for \(length($0))"
    },
    .cutNextImage: EventForm(of: .backend) { _ in "the next image is cut off" },
    .imagesElsewhere: EventForm(.count(0...1000), .span, of: .backend) {
      "the user keeps \(TraceText.count($0.number, "image")) on other devices for \(length($0))"
    },
    .revokeTokens: EventForm(.choice(TokenRefresh.allCases.map(\.rawValue)), of: .backend) {
      "all tokens are void; a refresh \(TokenRefresh(rawValue: $0.choice)?.label ?? $0.choice)"
    },
    .removeMember: EventForm(.span, of: .backend) { "the user is no member for \(length($0))" },
    .oversizedFrame: EventForm(of: .backend) { _ in "the server sends something too large" },
    .malformedFrames: EventForm(.count(0...1000), of: .backend) {
      "the server sends \($0.number) things that are no message"
    },
  ]
}

/// The outcome of a token refresh.
public enum TokenRefresh: String, Sendable, Hashable, CaseIterable {
  case works, fails, isRefused, hangs

  var label: String {
    switch self {
    case .works: "works"
    case .fails: "fails once"
    case .isRefused: "is refused"
    case .hangs: "hangs"
    }
  }
}
