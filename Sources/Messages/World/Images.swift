import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorldKernel

/// A checker that detects images without their messages, and messages without their images.
///
/// A message is sent after its image was stored, and the server claims the image with the commit of
/// the message. The image exists as long as the message refers to it. Images that a restored log
/// took back are not promised.
struct Images: StreamChecker {
  private(set) var found = Findings()
  /// The images that the server has.
  private var images: [MessageID: StoredImage] = [:]
  /// The instants at which they were stored.
  private var since: [MessageID: Instant] = [:]
  /// The images that messages of the current log have claimed.
  private var claimed: [MessageID: MessageID] = [:]
  /// The images that a restored log may have taken back, or a clock that was set.
  private var unpromised: Set<MessageID> = []
  /// The messages of the server's log.
  private var messages: [MessageID: ShopMessage] = [:]
  /// The texts of the user's messages with an image.
  private var texts: Set<String> = []
  /// The images with which entries were sent.
  private var sent: [UUID128: MessageID] = [:]

  /// The maximum age of an image without a message: a day, the hour between two removals, and the
  /// amounts by which the server's clock is set.
  private static let mostAge = Duration.seconds(27 * 3600)

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {
    guard case .post(let entry, _) = effect, entry.action == .post, texts.contains(entry.text)
    else { return }
    guard let image = entry.image?.url.flatMap({ ShopImage.id(in: $0) }) else {
      found.add(.orphaned, at: facts.now, "sent before its image was stored: \(entry.text)")
      return
    }
    if let first = sent.updateValue(image, forKey: entry.id), first != image,
      images[first] != nil
    {
      found.add(.orphaned, at: facts.now, "sent again with another image: \(entry.text)")
    }
  }

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    switch seen {
    case .fact(.images(let images)): note(images, facts.now)
    case .fact(.stored(let change, _)):
      for entry in change.outboxPut where entry.image != nil { texts.insert(entry.text) }
    case .fact(.accepted(let message, isNew: true)):
      messages[message.id] = message
      check(message, facts)
    case .fact(.changed(.edited(let message))):
      messages[message.id] = message
      claimed = claimed.filter { $0.value != message.id || refers(message.id, to: $0.key) }
    case .fact(.changed(.deleted(let deletion))): messages[deletion.id] = nil
    case .fact(.beganAnew(_, let retained)):
      messages = [:]
      for message in retained { messages[message.id] = message }
      claimed = [:]
      unpromised.formUnion(since.keys)
    case .began(let event) where event.serverJump != nil:
      unpromised.formUnion(since.keys)
    case .fact, .launched, .killed, .suspended, .resumed, .received, .ticked, .upgraded,
      .serverLost, .wentDead, .server, .began, .ended, .calm:
      return
    }
  }

  private mutating func note(_ stored: [StoredImage], _ now: Instant) {
    images = [:]
    for image in stored {
      images[image.id] = image
      if since[image.id] == nil { since[image.id] = now }
      if let message = image.message { claimed[image.id] = message }
    }
  }

  /// Checks that a message of the user that was accepted has its image.
  private mutating func check(_ message: ShopMessage, _ facts: Facts) {
    guard message.user == "me", texts.contains(message.text) || texts.contains(message.words)
    else { return }
    let named = ImageReference.ids(in: message.text)
    guard named.allSatisfy({ !unpromised.contains($0) }) else { return }
    // On a plain server, a copy of the message may have the image.
    if !named.contains(where: { images[$0]?.message != nil }) {
      found.add(.orphaned, at: facts.now, "accepted without its image: \(message.words)")
    }
  }

  mutating func conclude(_ facts: Facts) {
    for (id, image) in images.sorted(by: { $0.key < $1.key }) {
      if let message = image.message {
        guard !refers(message, to: id) else { continue }
        found.add(.orphaned, at: facts.now, "the image \(id) is kept without its message")
      } else if let start = since[id], start.duration(to: facts.now) > Self.mostAge {
        found.add(.orphaned, at: facts.now, "the image \(id) without a message is kept")
      }
    }
    for (id, message) in claimed.sorted(by: { $0.key < $1.key })
    where images[id] == nil && refers(message, to: id) {
      let text = messages[message]?.words ?? ""
      found.add(.orphaned, at: facts.now, "the message has lost its image: \(text)")
    }
  }

  /// Returns whether the log has a message, and its text refers to an image.
  private func refers(_ message: MessageID, to image: MessageID) -> Bool {
    messages[message].map { ImageReference.ids(in: $0.text).contains(image) } ?? false
  }
}
