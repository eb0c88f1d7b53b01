import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData

/// The checks of the promises of `MessageLog` about images.
let logImageChecks: [@Sendable (any MessageLog) async throws -> Void] = [
  keepsImages, boundsUnclaimedImages, claimsImages, claimsOnlyOwnImages, deletesImagesWithMessages,
  deletesImages, deletesOldImages,
]

private let author = "user-1"

private func image(
  _ number: UInt64, in shop: String = "s", by user: String = author, at time: Int64 = 1_000
) throws -> StoredImage {
  StoredImage(
    id: StoreSamples.id(number), shop: try StoreSamples.shop(shop), user: user, type: .webp,
    size: 70_000, createdAt: Timestamp(nanoseconds: time * 1_000))
}

private func reference(to number: UInt64) -> String {
  ImageReference.text(
    for: "https://a.example" + ImageRoute.image(StoreSamples.id(number)).path)
}

/// Posts a message of the author of the images.
private func post(
  _ number: UInt64, _ text: String, _ log: any MessageLog, by user: String = author,
  in shop: String = "s", key: UInt64? = nil
) async throws {
  let message = ShopMessage(
    id: StoreSamples.id(number), shop: try StoreSamples.shop(shop), user: user, username: nil,
    text: text, createdAt: Timestamp(nanoseconds: Int64(number)))
  _ = try await log.append(message, idempotencyKey: key.map(StoreSamples.id))
}

private func edit(_ number: UInt64, _ text: String, _ log: any MessageLog) async throws {
  _ = try await log.append(
    .edit(
      LogEdit(
        id: StoreSamples.id(number), shop: try StoreSamples.shop("s"), text: text,
        at: Timestamp(nanoseconds: 9_000), by: LogActor(user: author))))
}

private func expect(
  _ number: UInt64, _ log: any MessageLog, isOf message: UInt64?, _ promise: String
) async throws {
  let found = try await log.image(StoreSamples.id(number))
  try ContractViolation.unless(found?.message, is: message.map(StoreSamples.id), promise)
  try ContractViolation.unless(found != nil, is: true, promise)
}

private func expectGone(
  _ numbers: [UInt64], _ log: any MessageLog, _ promise: String
) async throws {
  for number in numbers {
    let found = try await log.image(StoreSamples.id(number))
    try ContractViolation.unless(found, is: nil, promise)
  }
  try ContractViolation.unless(
    try await log.deletedImages(), is: numbers.map(StoreSamples.id), promise)
}

private func keepsImages(_ log: any MessageLog) async throws {
  let image = try image(1)
  try ContractViolation.unless(
    try await log.image(image.id), is: nil, "an unknown image is not found")
  try ContractViolation.unless(
    try await log.addImage(image, atMost: 1), is: true, "an image is added")
  try ContractViolation.unless(
    try await log.image(image.id), is: image, "an image has what was added")
  var other = image
  other.type = .gif
  try ContractViolation.unless(
    try await log.addImage(other, atMost: 1), is: true, "an image may be added again")
  try ContractViolation.unless(
    try await log.image(image.id), is: image, "an image that is added again does not change")
  try ContractViolation.unless(
    try await log.head(of: image.shop).offset, is: 0, "an image is no event")
  try ContractViolation.unless(
    try await log.deletedImages(), is: [], "no image is deleted at first")
}

private func boundsUnclaimedImages(_ log: any MessageLog) async throws {
  for number in 1...2 as ClosedRange<UInt64> {
    _ = try await log.addImage(try image(number), atMost: 2)
  }
  try ContractViolation.unless(
    try await log.addImage(try image(3, in: "t"), atMost: 2), is: false,
    "the unclaimed images of a user are bounded in all shops together")
  try ContractViolation.unless(
    try await log.image(StoreSamples.id(3)), is: nil, "an image beyond the bound is not added")
  try ContractViolation.unless(
    try await log.addImage(try image(4, by: "user-2"), atMost: 2), is: true,
    "another user has a bound of their own")
  try await post(9, reference(to: 1), log)
  try ContractViolation.unless(
    try await log.addImage(try image(3), atMost: 2), is: true,
    "a claimed image does not count")
}

private func claimsImages(_ log: any MessageLog) async throws {
  for number in 1...3 as ClosedRange<UInt64> {
    _ = try await log.addImage(try image(number), atMost: 9)
  }
  try await post(11, "a \(reference(to: 1)) b \(reference(to: 2))\(reference(to: 1))", log)
  try await expect(1, log, isOf: 11, "a post claims its images")
  try await expect(2, log, isOf: 11, "a post claims all of its images")
  try await expect(3, log, isOf: nil, "a post claims no other image")
  try await post(12, reference(to: 1), log)
  try await expect(1, log, isOf: 11, "an image has one message")
  try await edit(12, reference(to: 3), log)
  try await expect(3, log, isOf: 12, "an edit claims images")
  try await expect(1, log, isOf: 11, "an edit of another message leaves an image")
}

private func claimsOnlyOwnImages(_ log: any MessageLog) async throws {
  _ = try await log.addImage(try image(1), atMost: 9)
  try await post(11, reference(to: 1), log, by: "user-2")
  try await post(12, reference(to: 1), log, in: "t")
  try await post(13, "\(StoreSamples.id(1))", log)
  try await expect(1, log, isOf: nil, "only the uploader's reference in its shop claims an image")
  try await post(14, "text", log, key: 70)
  try await post(15, reference(to: 1), log, key: 70)
  try await expect(1, log, isOf: nil, "a repeated post claims nothing")
}

private func deletesImagesWithMessages(_ log: any MessageLog) async throws {
  for number in 1...4 as ClosedRange<UInt64> {
    _ = try await log.addImage(try image(number), atMost: 9)
  }
  try await post(11, reference(to: 1) + reference(to: 2), log)
  try await post(12, reference(to: 3) + reference(to: 1), log)
  try await edit(11, "only " + reference(to: 2), log)
  try await expectGone([1], log, "an image is deleted when its message stops to refer to it")
  try await expect(2, log, isOf: 11, "an image to which the new text refers remains")
  let shop = try StoreSamples.shop("s")
  let stranger = LogDeletion(
    id: StoreSamples.id(12), shop: shop, by: LogActor(user: "user-2"))
  _ = try await log.append(.delete(stranger))
  try await expect(3, log, isOf: 12, "a refused deletion deletes no image")
  let deletion = LogDeletion(id: StoreSamples.id(12), shop: shop, by: LogActor(user: author))
  _ = try await log.append(.delete(deletion))
  try await expectGone([1, 3], log, "an image is deleted with its message")
  try await expect(4, log, isOf: nil, "an unclaimed image remains")
  try await log.forgetImages([StoreSamples.id(3), StoreSamples.id(4)])
  try await expectGone([1], log, "a deleted image can be forgotten")
  try await expect(4, log, isOf: nil, "only deleted images can be forgotten")
}

private func deletesImages(_ log: any MessageLog) async throws {
  for number in 1...2 as ClosedRange<UInt64> {
    _ = try await log.addImage(try image(number), atMost: 9)
  }
  try await post(11, reference(to: 1), log)
  try await log.deleteImage(StoreSamples.id(1))
  try await log.deleteImage(StoreSamples.id(5))
  try await expectGone([1], log, "a claimed image can be deleted")
  try ContractViolation.unless(
    try await log.page(.page(number: 1, limit: 1), of: try StoreSamples.shop("s"))
      .messages.first?.text, is: reference(to: 1), "the message of a deleted image remains")
  try await edit(11, reference(to: 2), log)
  try await expect(2, log, isOf: 11, "the message of a deleted image can claim another one")
  try await expectGone([1], log, "a deleted image is deleted once")
}

private func deletesOldImages(_ log: any MessageLog) async throws {
  for number in 1...4 as ClosedRange<UInt64> {
    _ = try await log.addImage(try image(number, at: Int64(number) * 10), atMost: 9)
  }
  try await post(11, reference(to: 1), log)
  try await log.deleteUnclaimedImages(before: Timestamp(nanoseconds: 30_000))
  try await expectGone([2], log, "only unclaimed images before the time are deleted")
  try await expect(1, log, isOf: 11, "a claimed image does not become too old")
  try await expect(3, log, isOf: nil, "an image of the time itself remains")
}
