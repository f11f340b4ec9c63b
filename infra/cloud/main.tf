# The stack of zerofleet cloud for those who use Terraform: the same template, wrapped.
#
# Not validated offline: no provider of Terraform can be had where this project is tested. The template itself is checked
# (tests/cloud). `zerofleet cloud up` also checks budget and quotas, asks, and writes the keys of inference servers;
# with this file you do that yourself: apply with all machines at 0, write the two keys, apply with machines.
terraform {
  required_providers {
    aws = { source = "hashicorp/aws", version = ">= 5.0" }
  }
}

variable "size" {
  description = "test, single or cluster: a template beside this file"
  type        = string
}

variable "run" {
  description = "Name of the run"
  type        = string
}

variable "parameters" {
  description = "Parameters of the template: Game, Preset, images, zones, BudgetUsd, NotifyAddress, times, machines"
  type        = map(string)
}

locals {
  programs = "${path.module}/../../src/zerofleet/cloud"
}

resource "aws_cloudformation_stack" "zerofleet" {
  name          = "zerofleet-${var.run}"
  template_body = jsonencode(jsondecode(file("${path.module}/${var.size}.json"))) # without spaces: at most 51,200 bytes
  capabilities  = ["CAPABILITY_IAM"]
  parameters = merge(
    {
      RunName          = var.run
      StartText        = file("${local.programs}/boot/start.sh")
      RoleText         = file("${local.programs}/boot/role.sh")
      InterruptionText = file("${local.programs}/interruption.py")
    },
    var.parameters
  )
  tags          = { Project = "zerofleet", Run = var.run, Role = "stack" }
}

output "bucket" {
  value = aws_cloudformation_stack.zerofleet.outputs["BucketName"]
}
