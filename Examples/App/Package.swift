// swift-tools-version: 6.2
import PackageDescription

// An app refers to the package by a URL and a version instead of a path.
let package = Package(
  name: "ExampleApp",
  platforms: [.macOS(.v15), .iOS(.v18), .watchOS(.v11)],
  dependencies: [.package(name: "Holdfast", path: "../..")],
  targets: [
    .executableTarget(
      name: "ExampleApp",
      dependencies: [
        .product(name: "Holdfast", package: "Holdfast"),
        .product(name: "HoldfastUI", package: "Holdfast"),
      ]),
    // A target that needs only a held socket.
    .target(
      name: "ExampleFeed", dependencies: [.product(name: "HoldfastSocket", package: "Holdfast")]
    ),
  ]
)
