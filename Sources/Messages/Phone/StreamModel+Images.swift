import HoldfastCore
package import HoldfastMessageData

// Messages with an image: the image is uploaded first, then the message is sent with its URL.
extension StreamModel {
  /// The number of characters of a text with an image that are left for the reference to it.
  private static let reservedCharacters = 500
  /// The maximum pause of a server for which a message with an image waits, and later ones with it.
  static let longestUploadPause = Duration.seconds(600)
  /// The rate in bytes a second below which an upload times out.
  private static let slowestUpload = 8_192

  /// Returns the reason why every server rejects a message; `nil` if it has a valid length.
  package static func refusal(of entry: OutboxEntry, by author: String? = nil) -> String? {
    guard let image = entry.image else {
      return refusal(
        of: entry.text, in: entry.shop, by: author, isEdit: entry.action.target != nil)
    }
    if let refusal = refusal(ofImage: image.size) { return refusal }
    let limits = MessageLimits()
    let (count, most) = (entry.text.unicodeScalars.count, limits.maxCharacters)
    guard count <= most - reservedCharacters else {
      return
        "it has \(count) characters; a message with an image has at most \(most - reservedCharacters)"
    }
    var posted = entry
    // No server has a shorter URL.
    posted.image?.url = image.url ?? "http://a" + ImageRoute.image(entry.id).path
    return refusal(of: posted.postedText, in: entry.shop, by: author)
  }

  /// Returns the reason why every server rejects an image of a size; `nil` if it has a valid one.
  package static func refusal(ofImage size: Int) -> String? {
    if size == 0 { return "the image is empty" }
    guard size > ShopImage.mostBytes else { return nil }
    return "the image has \(size) bytes; an image has at most \(ShopImage.mostBytes) (5 MiB)"
  }

  /// Returns a new text of a message with the references to images of its present text, which is that
  /// of the user's newest edit or the server's. Without a known text, the new one is returned as it
  /// is.
  func textWithImages(of message: MessageID, _ text: String) -> String {
    presentText(of: message).map { ImageReference.text(text, keepingThoseOf: $0) } ?? text
  }

  /// Returns the text of a message with the user's newest edit; `nil` if the message is not in memory.
  package func presentText(of message: MessageID) -> String? {
    let edit = outbox.entries.last { entry in
      guard case .queued = entry.state else { return false }
      return entry.action == .edit(message)
    }
    return edit?.text ?? known(message)?.text
  }

  /// Returns whether the next request for an entry is that for its image.
  func needsUpload(_ entry: OutboxEntry, at now: Instant) -> Bool {
    outbox.uploads.isNeeded(for: entry, at: now, wall(at: now))
  }

  /// Returns the time-out of the next attempt for an entry.
  func sendTimeout(of entry: OutboxEntry, at now: Instant) -> Duration {
    let usual = settings.fetchTimeout * 2
    guard let image = entry.image, needsUpload(entry, at: now) else { return usual }
    return usual + .seconds(60 + image.size / Self.slowestUpload)
  }

  /// Returns the effect that makes an attempt for an entry.
  mutating func request(for entry: OutboxEntry, _ number: TryID, at now: Instant) -> Effect {
    guard needsUpload(entry, at: now) else { return .post(entry, try: number) }
    outbox.uploads.begin(entry.id, number)
    return .upload(entry, try: number)
  }

  /// Handles the end of an upload: the image has this URL.
  ///
  /// The result of an attempt that was given up since counts too, unless the entry may have been
  /// sent with another URL.
  mutating func uploaded(
    _ id: UUID128, _ url: String, at wall: Timestamp, _ step: inout Step
  ) {
    drive(.requested(nil), &step)
    guard var entry = outbox.queue[id], var image = entry.image else { return }  // a late event
    let sending = outbox.queue.sending(id)
    guard image.url == nil || outbox.uploads.isUploading(sending) else { return }
    endUpload(of: entry)
    guard image.url != url else { return outbox.uploads.noteFound(id, at: step.now) }
    (image.url, image.uploadedAt) = (url, wall)
    entry.image = image
    outbox.queue.replace(entry)
    outbox.uploads.end(id)
    guard let known = outbox.queue[id] else { return }
    commits.waiting.put(known)
    if Self.refusal(of: known, by: outbox.author) != nil {
      failSend(id, "the server's reference to the image makes the text too long", &step)
    }
  }

  /// Ends the attempt to upload an image. An entry whose image had no URL was never sent.
  private mutating func endUpload(of entry: OutboxEntry) {
    let wasUnsure = outbox.queue.unsure.contains(entry.id)
    outbox.queue.release(entry.id)
    if entry.image?.url == nil || !wasUnsure { _ = outbox.queue.clearUnsure([entry.id]) }
  }

  /// Handles an image that cannot be uploaded, whose entry the user must discard or retry.
  mutating func uploadRefused(
    _ id: UUID128, _ number: TryID, _ reason: String, _ step: inout Step
  ) {
    guard outbox.queue.sending(id)?.number == number else { return }  // a late event
    failSend(id, reason, &step)
  }

  /// Returns the reason to show if the server refused an image; `nil` for another failure, and for
  /// one of another request.
  func uploadRefusal(_ id: UUID128, _ failure: LinkFailure) -> String? {
    guard outbox.uploads.isUploading(outbox.queue.sending(id)), !failure.isElsewhere,
      case .http(let status, let retryAfter, let detail) = failure
    else { return nil }
    switch status {
    // The images of other messages have to go first, and later messages must not wait for that.
    case 429 where retryAfter.map { $0 > Self.longestUploadPause } ?? false:
      return "the server takes no image now: \(detail.isEmpty ? "too many" : detail); "
        + "discard messages with images that failed, or retry later"
    case 404, 405: return "the server takes no images"
    case 413: return detail.isEmpty ? "the image is too large" : "the image is too large: \(detail)"
    case 415:
      return detail.isEmpty
        ? "the server does not take this type of image"
        : "the server does not take this type of image: \(detail)"
    case 400, 402, 406..<408, 409..<425, 426..<429, 430..<500:
      return detail.isEmpty
        ? "the server refused the image (\(status))" : "the server refused the image: \(detail)"
    case _: return nil
    }
  }
}
