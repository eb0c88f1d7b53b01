// swift-tools-version: 6.2
import PackageDescription

// An app refers to the package by a URL and a version instead of a path.
let package = Package(
  name: "ExampleApp",
  platforms: [.macOS(.v15), .iOS(.v18), .watchOS(.v11)],
  dependencies: [.package(name: "Holdfast", path: "../.."), .package(path: "Neighbour")],
  targets: [
    .executableTarget(
      name: "ExampleApp",
      dependencies: [
        .product(name: "Holdfast", package: "Holdfast"),
        .product(name: "HoldfastUI", package: "Holdfast"),
        .product(name: "HoldfastPorts", package: "Holdfast"),
        .product(name: "Neighbour", package: "Neighbour"),
      ]),
    // A command line over three features, with its tests.
    .executableTarget(
      name: "Corner",
      dependencies: ["CornerCore", .product(name: "Holdfast", package: "Holdfast")]),
    .target(name: "CornerCore", dependencies: [.product(name: "Holdfast", package: "Holdfast")]),
    .testTarget(
      name: "CornerTests",
      dependencies: [
        "CornerCore", .product(name: "Holdfast", package: "Holdfast"),
        .product(name: "HoldfastTestKit", package: "Holdfast"),
      ]),
    // A target that needs only a held socket.
    .target(
      name: "ExampleFeed", dependencies: [.product(name: "HoldfastSocket", package: "Holdfast")]
    ),
  ]
)
