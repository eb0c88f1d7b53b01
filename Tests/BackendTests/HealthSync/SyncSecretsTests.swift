import Foundation
import HoldfastCore
import HoldfastKeyedHashing
import HoldfastRelayData
import HoldfastSyncData
import HoldfastSyncServer
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

@Suite struct SyncSecretsTests {
  private static func secrets(_ text: String) throws(SyncSecretsFault) -> SyncSecrets {
    try SyncSecrets(Array(text.utf8))
  }

  @Test func `each line contains a user, a secret and an optional time zone`() throws {
    let secrets = try Self.secrets(
      "# users\n\n  ann s3cret-0123456789 Europe/Berlin\r\nben\tother-0123456789\n")
    #expect(secrets.users == [SyncUser("ann", zone: "Europe/Berlin"), SyncUser("ben")])
    #expect(secrets.user(of: "s3cret-0123456789") == SyncUser("ann", zone: "Europe/Berlin"))
    #expect(secrets.user(of: "other-0123456789") == SyncUser("ben"))
    let wrong = ["S3cret-0123456789", "s3cret-012345678", "s3cret-0123456789 "]
    for wrong in [nil, "", "ann"] + wrong {
      #expect(secrets.user(of: wrong) == nil)
      #expect((secrets.wrong(wrong) == nil) == (wrong == nil))
    }
    #expect(secrets.wrong("s3cret-0123456789") == nil)
    #expect(secrets.wrong("a") != secrets.wrong("b"))
  }

  @Test func `a phone's choice ends with the secret that it sent`() throws {
    let sign = { (text: [UInt8]) in ContentHash.of([7] + text) }
    let (one, two) = ("one-of-the-secrets", "two-of-the-secrets")
    let secrets = try Self.secrets("ann \(one) Etc/UTC\nben \(two)")
    let user = SyncedUser("ann", proof: secrets.proof(of: "ann", signing: sign))
    #expect(user.proof != nil)
    #expect(secrets.owner(of: user, signing: sign) == SyncUser("ann", zone: "Etc/UTC"))
    #expect(secrets.owner(of: user, signing: { ContentHash.of($0) }) == nil)
    #expect(secrets.owner(of: SyncedUser("ann"), signing: sign) == nil)
    #expect(secrets.owner(of: SyncedUser("ben", proof: user.proof), signing: sign) == nil)
    #expect(secrets.proof(of: "eve", signing: sign) == nil)
    for text in ["ann other-0123456789", "ann \(two)\nben \(one)", "ben \(one)"] {
      #expect(try Self.secrets(text).owner(of: user, signing: sign) == nil)
    }
    #expect(try Self.secrets("ann \(one)").owner(of: user, signing: sign) == SyncUser("ann"))
  }

  @Test(
    arguments: [
      ("", .empty), ("# nobody\n", .empty), ("ann", .fields(line: 1)),
      ("ann A\nben", .fields(line: 2)), ("ann A Europe/Berlin x", .fields(line: 1)),
      ("\nann A Nowhere/Town", .zone(line: 2, name: "Nowhere/Town")),
      ("ann A\n\nann B", .sameUser(line: 3, as: 1)), ("ann A\nben A", .sameSecret(line: 2, as: 1)),
      ("ann A\nben short", .tooShort(line: 2, least: 16)),
    ] as [(String, SyncSecretsFault)])
  func `the error names an invalid line`(text: String, fault: SyncSecretsFault) {
    let text = text.replacing("A", with: "secret-of-16-byte").replacing(
      "B", with: "other-of-16-bytes")
    #expect(throws: fault) { try Self.secrets(text) }
  }

  @Test(arguments: [-1, 0, 1])
  func `a secret has at least minSecretBytes, 16`(beyond: Int) throws {
    #expect(SyncSecrets.minSecretBytes == 16)
    let secret = String(repeating: "s", count: SyncSecrets.minSecretBytes + beyond)
    #expect(((try? Self.secrets("ann \(secret)")) == nil) == (beyond < 0))
    // Letters outside ASCII have two bytes or more.
    let letters = String(repeating: "é", count: 8 + beyond)
    #expect(((try? Self.secrets("ann \(letters)")) == nil) == (beyond < 0))
    let fault = SyncSecretsFault.tooShort(line: 1, least: 16).description
    #expect(fault.contains("`openssl rand -hex 16`"))
  }

  @Test(arguments: [-1, 0, 1])
  func `names and secrets have a maximum length`(beyond: Int) {
    let name = String(repeating: "n", count: SyncSecrets.maxNameBytes + beyond)
    let secret = String(repeating: "s", count: SyncSecrets.maxSecretBytes + beyond)
    #expect(((try? Self.secrets("\(name) secret-of-16-byte")) == nil) == (beyond > 0))
    #expect(((try? Self.secrets("n \(secret)")) == nil) == (beyond > 0))
  }

  @Test func `no error contains a secret`() {
    let long = "hush-0123456789012"
    for text in [
      "ann hush x y", "ann \(long) Nowhere", "ann \(long)\nben \(long)", "hush", "a hush",
    ] {
      do {
        _ = try Self.secrets(text)
      } catch {
        #expect(!error.description.contains("hush"))
        #expect(error.description.contains("line "))
      }
    }
  }

  @Test func `a missing file is created with a new secret, accessible only by its owner`() throws {
    let scratch = try Scratch()
    let path = scratch("new/secrets")
    let (first, isOpen) = try SyncSecrets.open(path)
    #expect(first.users == [SyncUser("me")] && !isOpen)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let secret = try #require(text.split(separator: " ").last).trimmingCharacters(
      in: .whitespacesAndNewlines)
    #expect(secret.count == 43)
    #expect(try SyncSecrets.open(path).secrets.user(of: secret) == SyncUser("me"))
    let other = try SyncSecrets.open(scratch("other")).secrets
    #expect(other.user(of: secret) == nil)
  }

  @Test func `a file that others can read is used and reported`() throws {
    let scratch = try Scratch()
    let path = scratch("open")
    try Data("ann s3cret-0123456789\n".utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let (secrets, isOpen) = try SyncSecrets.open(path)
    #expect(secrets.users == [SyncUser("ann")] && isOpen)
  }

  @Test func `an error in the file names the file and the line`() throws {
    let scratch = try Scratch()
    let path = scratch("bad")
    try Data("ann\n".utf8).write(to: URL(fileURLWithPath: path))
    #expect(
      throws: BackendError.file(
        path: path,
        detail: "line 1: write USER SECRET, and a time zone if one is wanted")
    ) { try SyncSecrets.open(path) }
  }

  /// The test vectors of the contract.
  @Test(arguments: [
    (
      "HKQuantityTypeIdentifierHeartRate", "2026-01-18T20:00:00Z", "2026-01-18T20:00:00Z", 72.0,
      "92e912675fccac48fdc40b8cc0769973065a5021667e9ed32e13b98722204d76"
    ),
    (
      "HKQuantityTypeIdentifierActiveEnergyBurned", "2026-01-18T20:00:00Z",
      "2026-01-18T20:01:00Z", 0.731,
      "a626490c2cbee20d77d15dabfd7e8b2316dbc40ba51b4655dc2fd504e066259a"
    ),
    (
      "HKCategoryTypeIdentifierSleepAnalysis", "2026-01-18T04:00:00Z", "2026-01-18T04:30:00Z", 3,
      "bc4515ab72976ac15f1db16266b26473067c03154df38d197f28adc3ed921c36"
    ),
  ])
  func `the hash of a record matches the contract`(
    type: String, start: String, end: String, value: Double, hash: String
  ) throws {
    let text =
      #"{"dataType":"t","records":[{"recordType":"\#(type)","sourceName":"Apple Watch","#
      + #""startTime":"\#(start)","endTime":"\#(end)","value":\#(value)}]}"#
    let record = try #require(try SyncBatch.read(Array(text.utf8)).records?.first)
    #expect(Self.hex(record.hashInput) == hash)
  }

  @Test func `the hash of a workout matches the contract`() throws {
    let text =
      #"{"dataType":"t","workouts":[{"workoutType":"HKWorkoutActivityTypeRunning","#
      + #""sourceName":"Apple Watch","startTime":"2026-01-18T12:00:00Z","#
      + #""endTime":"2026-01-18T12:30:34Z","durationSeconds":1834.27}]}"#
    let workout = try #require(try SyncBatch.read(Array(text.utf8)).workouts?.first)
    #expect(
      Self.hex(workout.hashInput)
        == "d06dcad2c1d4c1f7eeb6c6240cb6be28682c5c5cfef62d9e1c1db19173c6202f")
  }

  private static func hex(_ text: [UInt8]) -> String {
    var hasher = ContentHash()
    return String(Hex.text(of: hasher.hash(text).bytes))
  }
}
